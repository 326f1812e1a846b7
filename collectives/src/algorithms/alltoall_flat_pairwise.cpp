// In step s, every rank sends to the s-th rank after it and receives from the s-th rank before it.
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration alltoall_flat_pairwise{{
    .operation = Operation::alltoall,
    .name = "flat_pairwise",
    .make = [](const Problem& problem) -> Schedule {
      const auto program = [ranks = problem.ranks(), units = problem.units](Program& steps, int rank) {
        for (int step = 1; step < ranks; ++step) {
          const int target = (rank + step) % ranks;
          const int source = (rank + ranks - step) % ranks;
          steps.exchange(target, Space::input, {target * units, units}, source, Space::result,
                         {source * units, units});
        }
      };
      return {program, around(problem.ranks(), 0)};
    },
}};

}  // namespace
}  // namespace scope
