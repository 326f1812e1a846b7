// The tree of Storchi et al., Fig. 3 ("flat binomial tree"): ranks in order; rank i sends to 2i+1, then to 2i+2.
// The tree in the figure is a binary heap, because only a heap fits the text ("after 3 time steps all local nodes
// except p6 have been reached"; p3, p4 and p5 send to GRID next).
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration broadcast_flat_binomial{{
    .operation = Operation::broadcast,
    .name = "flat_binomial",
    .make = [](const Problem& problem) -> Schedule {
      const auto tree = std::make_shared<Tree>(problem.ranks());
      join_heap(around(problem.ranks(), problem.root), *tree);
      const auto program = [tree, units = problem.units](Program& steps, int rank) {
        pass_blocking(steps, *tree, rank, units);
      };
      return {program};
    },
}};

}  // namespace
}  // namespace scope
