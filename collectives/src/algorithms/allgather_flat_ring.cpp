// Blocks circulate around a ring of ranks in order.
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration allgather_flat_ring{{
    .operation = Operation::allgather,
    .name = "flat_ring",
    .make = [](const Problem& problem) -> Schedule {
      const auto program = [ranks = problem.ranks(), units = problem.units](Program& steps, int rank) {
        for (int step = 0; step < ranks - 1; ++step) {
          const int given = (rank - step + ranks) % ranks;
          const int taken = (given - 1 + ranks) % ranks;
          steps.exchange((rank + 1) % ranks, Space::work, {given * units, units}, (rank + ranks - 1) % ranks,
                         Space::work, {taken * units, units});
        }
      };
      return {program, around(problem.ranks(), 0)};
    },
}};

}  // namespace
}  // namespace scope
