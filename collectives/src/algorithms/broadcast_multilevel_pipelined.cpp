// Segments flow over all levels at once. Every link of the tree is crossed once by the message; the root
// posts all it has, the slowest link first, so that this one never waits; everyone else hands a segment on
// when it is there.
#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration broadcast_multilevel_pipelined{{
    .operation = Operation::broadcast,
    .name = "multilevel_pipelined",
    .segmented = true,
    .shapes = passing_shapes,
    .make = [](const Problem& problem) -> Schedule {
      const auto tree = std::make_shared<Tree>(multilevel_tree(problem));
      const auto program = [tree, ranges = segments(problem)](int rank) {
        Program steps;
        Feeder feeder(steps, tree->children[rank]);
        if (tree->parent[rank] < 0) {
          for (const Range& range : ranges) feeder.hand_on(Space::work, range);
        } else {
          Drain drain(steps, tree->parent[rank], Space::work, ranges);
          for (std::size_t i = 0; i < ranges.size(); ++i) {
            drain.take(i);
            feeder.hand_on(Space::work, ranges[i]);
          }
        }
        steps.wait_all();
        return steps;
      };
      return {program, {}};
    },
}};

}  // namespace
}  // namespace scope
