// Pipelined reduce combined with pipelined broadcast: a segment goes down while later segments still come up.
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration allreduce_multilevel_pipelined{{
    .operation = Operation::allreduce,
    .name = "multilevel_pipelined",
    .segmented = true,
    .shapes = passing_shapes,
    .make = [](const Problem& problem) -> Schedule {
      const auto tree = std::make_shared<Tree>(multilevel_tree(problem));
      // A segment returns only after going up and down; until then, a rank only sends up.
      const std::size_t lag = 2 * height(*tree, problem.root) + 1;
      const auto program = [tree, lag, ranges = segments(problem)](Program& steps, int rank) {
        const std::vector<int>& below = tree->children[rank];
        Feeder down(steps, below);
        if (tree->parent[rank] < 0) {
          Collector collector(steps, below, ranges);
          for (std::size_t i = 0; i < ranges.size(); ++i) {
            collector.take(i);
            down.hand_on(Space::work, ranges[i]);
          }
        } else {
          const std::vector<int> above = {tree->parent[rank]};
          Drain drain(steps, above.front(), Space::result, ranges);
          Collector collector(steps, below, ranges);
          Feeder up(steps, above);
          for (std::size_t i = 0; i < ranges.size() + lag; ++i) {
            if (i < ranges.size()) {
              collector.take(i);
              up.hand_on(below.empty() ? Space::input : Space::work, ranges[i]);
            }
            if (i >= lag) {
              drain.take(i - lag);
              down.hand_on(Space::result, ranges[i - lag]);
            }
          }
        }
        steps.wait_all();
      };
      return {program};
    },
}};

}  // namespace
}  // namespace scope
