// Segments flow over all levels at once. The message crosses every link of the tree once. The root posts
// everything, slowest link first, so that this link never idles; every other rank forwards a segment on arrival.
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
      const auto program = [tree, ranges = segments(problem)](Program& steps, int rank) {
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
      };
      return {program};
    },
}};

}  // namespace
}  // namespace scope
