// The pipelined reduce and the pipelined broadcast in one: a segment goes down again while later ones still
// come up.
#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {

Schedule allreduce_multilevel_pipelined(const Problem& problem) {
  const auto tree = std::make_shared<Tree>(multilevel_tree(problem));
  // A segment is back after it went up and down: until then a rank only sends up.
  const std::size_t lag = 2 * height(*tree, problem.root) + 1;
  const auto program = [tree, lag, ranges = segments(problem)](int rank) {
    Program steps;
    const int above = tree->parent[rank];
    const std::vector<int>& below = tree->children[rank];
    std::vector<std::int64_t> coming;
    if (above >= 0)
      for (const Range& range : ranges)
        coming.push_back(steps.start_receive(above, Space::result, range.begin, range.count));
    Collector collector(steps, below, ranges);
    const auto hand_down = [&](std::size_t segment) {
      if (above >= 0) steps.wait(coming[segment]);
      for (const int child : below)
        steps.start_send(child, above >= 0 ? Space::result : Space::work, ranges[segment].begin,
                         ranges[segment].count);
    };
    for (std::size_t i = 0; i < ranges.size() + lag; ++i) {
      if (i < ranges.size()) {
        collector.take(i);
        if (above >= 0)
          steps.start_send(above, below.empty() ? Space::input : Space::work, ranges[i].begin,
                           ranges[i].count);
      }
      if (above < 0 && i < ranges.size()) hand_down(i);
      if (above >= 0 && i >= lag) hand_down(i - lag);
    }
    steps.wait_all();
    return steps;
  };
  return {program, {}};
}

}  // namespace scope
