// Every rank exchanges all its data with the partner at distance 1, 2, 4 …; ranks beyond a power of two are
// folded into a neighbor first (Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.5).
#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration allreduce_flat_recursive_doubling{{
    .operation = Operation::allreduce,
    .name = "flat_recursive_doubling",
    .make = [](const Problem& problem) -> Schedule {
      const auto program = [ranks = problem.ranks(), units = problem.units](int rank) {
        Program steps;
        int power = 1;
        while (2 * power <= ranks) power *= 2;
        const int folded = ranks - power;  // this many pairs of neighbors become one
        const auto take = [&](int peer) {
          steps.receive(peer, Space::incoming, 0, units);
          steps.combine(0, Space::incoming, 0, units);
        };
        int place = rank - folded;
        if (rank < 2 * folded && rank % 2 == 0) {
          steps.send(rank + 1, Space::work, 0, units);
          steps.receive(rank + 1, Space::work, 0, units);
          return steps;
        }
        if (rank < 2 * folded) {
          take(rank - 1);
          place = rank / 2;
        }
        for (int distance = 1; distance < power; distance *= 2) {
          const int other = place ^ distance;
          const int peer = other < folded ? 2 * other + 1 : other + folded;
          steps.exchange(peer, Space::work, {0, units}, peer, Space::incoming, {0, units});
          steps.combine(0, Space::incoming, 0, units);
        }
        if (rank < 2 * folded) steps.send(rank - 1, Space::work, 0, units);
        return steps;
      };
      return {program, {}};
    },
}};

}  // namespace
}  // namespace scope
