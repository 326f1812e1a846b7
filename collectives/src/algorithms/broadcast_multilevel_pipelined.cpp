// Segments flow over all levels at once. Every link of the tree is crossed once by the message; the root
// posts all it has, the slowest link first, so that this one never waits; everyone else hands a segment on
// when it is there.
#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {

Schedule broadcast_multilevel_pipelined(const Problem& problem) {
  const auto tree = std::make_shared<Tree>(multilevel_tree(problem));
  const auto program = [tree, ranges = segments(problem)](int rank) {
    Program steps;
    const int above = tree->parent[rank];
    if (above >= 0)
      for (const Range& range : ranges) steps.start_receive(above, Space::work, range.begin, range.count);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (above >= 0) steps.wait(static_cast<std::int64_t>(i));
      for (const int child : tree->children[rank])
        steps.start_send(child, Space::work, ranges[i].begin, ranges[i].count);
    }
    steps.wait_all();
    return steps;
  };
  return {program, {}};
}

}  // namespace scope
