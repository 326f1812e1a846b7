// Every rank notifies the rank at distance 1, 2, 4 … (Hensgen, Finkel, Manber 1988).
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration barrier_flat_dissemination{{
    .operation = Operation::barrier,
    .name = "flat_dissemination",
    .make = [](const Problem& problem) -> Schedule {
      const auto program = [ranks = problem.ranks()](Program& steps, int rank) {
        for (int distance = 1; distance < ranks; distance *= 2) {
          steps.exchange((rank + distance) % ranks, Space::work, {0, 0}, (rank + ranks - distance) % ranks,
                         Space::work, {0, 0});
        }
      };
      return {program};
    },
}};

}  // namespace
}  // namespace scope
