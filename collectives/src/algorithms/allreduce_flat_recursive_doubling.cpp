// Every rank exchanges all its data with the partner at distance 1, 2, 4 …; ranks beyond a power of two are
// folded into a neighbor first (Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.5).
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration allreduce_flat_recursive_doubling{{
    .operation = Operation::allreduce,
    .name = "flat_recursive_doubling",
    .make = [](const Problem& problem) -> Schedule {
      const auto rounds = [units = problem.units](Program& steps, const Folding& folding) {
        for (int distance = 1; distance < folding.power; distance *= 2) {
          const int peer = folding.peer(distance);
          steps.exchange(peer, Space::work, {0, units}, peer, Space::incoming, {0, units});
          steps.combine(0, Space::incoming, 0, units);
        }
      };
      return folded(problem, rounds);
    },
}};

}  // namespace
}  // namespace scope
