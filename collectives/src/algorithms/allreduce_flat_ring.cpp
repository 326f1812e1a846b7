// Two rounds around a ring of ranks in order: a reduce-scatter, then an allgather.
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration allreduce_flat_ring{{
    .operation = Operation::allreduce,
    .name = "flat_ring",
    .make = [](const Problem& problem) -> Schedule {
      const auto program = [ranks = problem.ranks(), units = problem.units](Program& steps, int rank) {
        const int next = (rank + 1) % ranks;
        const int previous = (rank + ranks - 1) % ranks;
        const auto part = [&](int index) {
          const std::int64_t which = ((index % ranks) + ranks) % ranks;
          const std::int64_t begin = units * which / ranks;
          return Range{begin, units * (which + 1) / ranks - begin};
        };
        for (int step = 0; step < ranks - 1; ++step) {
          const Range given = part(rank - step);
          const Range taken = part(rank - step - 1);
          steps.exchange(next, Space::work, given, previous, Space::incoming, {0, taken.count});
          steps.combine(taken.begin, Space::incoming, 0, taken.count);
        }
        for (int step = 0; step < ranks - 1; ++step)
          steps.exchange(next, Space::work, part(rank + 1 - step), previous, Space::work, part(rank - step));
      };
      return {program};
    },
}};

}  // namespace
}  // namespace scope
