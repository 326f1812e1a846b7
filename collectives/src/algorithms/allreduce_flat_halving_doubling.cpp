// Rabenseifner's algorithm: each rank gives away half of its remaining data at distance 1, 2, 4 …, until
// every rank has reduced one part; then the parts return the same way (Thakur, Rabenseifner, Gropp, IJHPCA
// 19(1), 2005, section 4.5). Ranks beyond a power of two are folded into a neighbor first.
#include <algorithm>

#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration allreduce_flat_halving_doubling{{
    .operation = Operation::allreduce,
    .name = "flat_halving_doubling",
    .make = [](const Problem& problem) -> Schedule {
      const auto program = [ranks = problem.ranks(), units = problem.units](int rank) {
        Program steps;
        int power = 1;
        while (2 * power <= ranks) power *= 2;
        const int folded = ranks - power;  // this many pairs of neighbors become one
        if (rank < 2 * folded && rank % 2 == 0) {
          steps.send(rank + 1, Space::work, 0, units);
          steps.receive(rank + 1, Space::work, 0, units);
          return steps;
        }
        if (rank < 2 * folded) {
          steps.receive(rank - 1, Space::incoming, 0, units);
          steps.combine(0, Space::incoming, 0, units);
        }
        const int place = rank < 2 * folded ? rank / 2 : rank - folded;
        const auto peer_at = [&](int distance) {
          const int other = place ^ distance;
          return other < folded ? 2 * other + 1 : other + folded;
        };
        Range kept{0, units};
        std::vector<Range> given;
        for (int distance = 1; distance < power; distance *= 2) {
          const Range low{kept.begin, kept.count / 2};
          const Range high{kept.begin + low.count, kept.count - low.count};
          const bool lower = (place & distance) == 0;
          kept = lower ? low : high;
          given.push_back(lower ? high : low);
          steps.exchange(peer_at(distance), Space::work, given.back(), peer_at(distance), Space::incoming,
                         {0, kept.count});
          steps.combine(kept.begin, Space::incoming, 0, kept.count);
        }
        for (int distance = power / 2; distance >= 1; distance /= 2) {
          const Range back = given.back();
          given.pop_back();
          steps.exchange(peer_at(distance), Space::work, kept, peer_at(distance), Space::work, back);
          kept = {std::min(kept.begin, back.begin), kept.count + back.count};
        }
        if (rank < 2 * folded) steps.send(rank - 1, Space::work, 0, units);
        return steps;
      };
      return {program, {}};
    },
}};

}  // namespace
}  // namespace scope
