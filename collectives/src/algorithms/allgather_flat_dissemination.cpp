// Doubling for any number of ranks (Bruck et al., IEEE TPDS 8(11), 1997): every rank sends all its blocks to the
// rank at distance 1, 2, 4 … before it. Blocks keep their positions, so wrapped ranges need two messages.
#include <algorithm>

#include "algorithms/passing.hpp"

namespace scope {
namespace {

// A range of blocks, wrapped around the end.
std::vector<Range> wrapped(int from, int blocks, int ranks, std::int64_t units) {
  const int first = std::min(blocks, ranks - from);
  std::vector<Range> ranges = {{from * units, first * units}};
  if (blocks > first) ranges.push_back({0, (blocks - first) * units});
  return ranges;
}

const Registration allgather_flat_dissemination{{
    .operation = Operation::allgather,
    .name = "flat_dissemination",
    .make = [](const Problem& problem) -> Schedule {
      const auto program = [ranks = problem.ranks(), units = problem.units](Program& steps, int rank) {
        for (int distance = 1; distance < ranks; distance *= 2) {
          const int blocks = std::min(distance, ranks - distance);
          const int source = (rank + distance) % ranks;
          const int target = (rank + ranks - distance) % ranks;
          for (const Range& range : wrapped(rank, blocks, ranks, units))
            steps.start_send(target, Space::work, range.begin, range.count);
          for (const Range& range : wrapped(source, blocks, ranks, units))
            steps.receive(source, Space::work, range.begin, range.count);
          steps.wait_all();
        }
      };
      return {program, around(problem.ranks(), 0)};
    },
}};

}  // namespace
}  // namespace scope
