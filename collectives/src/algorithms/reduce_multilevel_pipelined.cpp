// The reverse of the pipelined broadcast: every segment is reduced on its way up and crosses every slow link once.
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration reduce_multilevel_pipelined{{
    .operation = Operation::reduce,
    .name = "multilevel_pipelined",
    .segmented = true,
    .shapes = passing_shapes,
    .make = [](const Problem& problem) -> Schedule {
      const auto tree = std::make_shared<Tree>(multilevel_tree(problem));
      const auto program = [tree, ranges = segments(problem)](Program& steps, int rank) {
        const std::vector<int>& below = tree->children[rank];
        const std::vector<int> above(tree->parent[rank] >= 0, tree->parent[rank]);
        Collector collector(steps, below, ranges);
        Feeder feeder(steps, above);
        for (std::size_t i = 0; i < ranges.size(); ++i) {
          collector.take(i);
          feeder.hand_on(below.empty() ? Space::input : Space::work, ranges[i]);
        }
        steps.wait_all();
      };
      return {program};
    },
}};

}  // namespace
}  // namespace scope
