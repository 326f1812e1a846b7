// Messages go up the tree and down again, so that every slow link is crossed once in each direction.
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration barrier_multilevel_tree{{
    .operation = Operation::barrier,
    .name = "multilevel_tree",
    .make = [](const Problem& problem) -> Schedule {
      const auto tree = std::make_shared<Tree>(multilevel_tree(problem));
      const auto program = [tree](Program& steps, int rank) {
        for (const int child : tree->children[rank]) steps.start_receive(child, Space::work, 0, 0);
        steps.wait_all();
        if (const int above = tree->parent[rank]; above >= 0) {
          steps.send(above, Space::work, 0, 0);
          steps.receive(above, Space::work, 0, 0);
        }
        for (const int child : tree->children[rank]) steps.start_send(child, Space::work, 0, 0);
        steps.wait_all();
      };
      return {program};
    },
}};

}  // namespace
}  // namespace scope
