// A binomial tree over the ranks in order, regardless of their places.
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration reduce_flat_binomial{{
    .operation = Operation::reduce,
    .name = "flat_binomial",
    .make = [](const Problem& problem) -> Schedule {
      const auto tree = std::make_shared<Tree>(problem.ranks());
      join_halving(around(problem.ranks(), problem.root), *tree);
      const auto program = [tree, units = problem.units](Program& steps, int rank) {
        const std::vector<int>& below = tree->children[rank];
        for (auto child = below.rbegin(); child != below.rend(); ++child) {  // the smallest subtree is ready first
          steps.receive(*child, Space::incoming, 0, units);
          steps.combine(0, Space::incoming, 0, units);
        }
        if (tree->parent[rank] >= 0)
          steps.send(tree->parent[rank], below.empty() ? Space::input : Space::work, 0, units);
      };
      return {program};
    },
}};

}  // namespace
}  // namespace scope
