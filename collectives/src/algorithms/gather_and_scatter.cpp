// Blocks move along a tree to the root or from the root. In a multilevel tree, the blocks of a cluster cross the
// slow link in one message; flat trees use the ranks in order, regardless of their places.
#include "algorithms/passing.hpp"

namespace scope {
namespace {

Tree star(const Problem& problem) {
  Tree tree(problem.ranks());
  join_star(around(problem.ranks(), problem.root), tree);
  return tree;
}

Tree binomial(const Problem& problem) {
  Tree tree(problem.ranks());
  join_halving(around(problem.ranks(), problem.root), tree);
  return tree;
}

// A layout in which every rank's subtree is contiguous.
struct Layout {
  Layout(Tree along, int root)
      : tree(std::move(along)),
        order(depth_first(tree, root)),
        sizes(subtree_sizes(tree, root)),
        places(order.size()) {
    for (std::size_t i = 0; i < order.size(); ++i) places[order[i]] = static_cast<std::int64_t>(i);
  }

  Tree tree;
  std::vector<int> order;
  std::vector<std::int64_t> sizes;  // size of every rank's subtree, in blocks
  std::vector<std::int64_t> places;
};

template <Tree (*tree_of)(const Problem&)>
Schedule gather(const Problem& problem) {
  const auto layout = std::make_shared<Layout>(tree_of(problem), problem.root);
  const auto program = [layout, units = problem.units](Program& steps, int rank) {
    const auto& [tree, order, sizes, places] = *layout;
    for (const int child : tree.children[rank])
      steps.start_receive(child, Space::work, (places[child] - places[rank]) * units, sizes[child] * units);
    steps.wait_all();
    if (tree.parent[rank] >= 0)
      steps.send(tree.parent[rank], tree.children[rank].empty() ? Space::input : Space::work, 0,
                 sizes[rank] * units);
  };
  return {program, layout->order};
}

template <Tree (*tree_of)(const Problem&)>
Schedule scatter(const Problem& problem) {
  const auto layout = std::make_shared<Layout>(tree_of(problem), problem.root);
  const auto program = [layout, units = problem.units](Program& steps, int rank) {
    const auto& [tree, order, sizes, places] = *layout;
    if (tree.parent[rank] >= 0) steps.receive(tree.parent[rank], Space::work, 0, sizes[rank] * units);
    for (const int child : tree.children[rank])
      steps.start_send(child, Space::work, (places[child] - places[rank]) * units, sizes[child] * units);
    steps.wait_all();
  };
  return {program, layout->order};
}

const Registration gather_linear{{.operation = Operation::gather, .name = "flat_linear", .make = gather<star>}};
const Registration gather_binomial{
    {.operation = Operation::gather, .name = "flat_binomial", .make = gather<binomial>}};
const Registration gather_multilevel{{.operation = Operation::gather,
                                      .name = "multilevel_tree",
                                      .shapes = collecting_shapes,
                                      .make = gather<multilevel_tree>}};
const Registration scatter_linear{{.operation = Operation::scatter, .name = "flat_linear", .make = scatter<star>}};
const Registration scatter_binomial{
    {.operation = Operation::scatter, .name = "flat_binomial", .make = scatter<binomial>}};
const Registration scatter_multilevel{{.operation = Operation::scatter,
                                       .name = "multilevel_tree",
                                       .shapes = collecting_shapes,
                                       .make = scatter<multilevel_tree>}};

}  // namespace
}  // namespace scope
