// Rabenseifner's algorithm: each rank gives away half of its remaining data at distance 1, 2, 4 …, until
// every rank has reduced one part; then the parts return the same way (Thakur, Rabenseifner, Gropp, IJHPCA
// 19(1), 2005, section 4.5). Ranks beyond a power of two are folded into a neighbor first.
#include <algorithm>

#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration allreduce_flat_halving_doubling{{
    .operation = Operation::allreduce,
    .name = "flat_halving_doubling",
    .make = [](const Problem& problem) -> Schedule {
      const auto rounds = [units = problem.units](Program& steps, const Folding& folding) {
        Range kept{0, units};
        std::vector<Range> given;
        for (int distance = 1; distance < folding.power; distance *= 2) {
          const Range low{kept.begin, kept.count / 2};
          const Range high{kept.begin + low.count, kept.count - low.count};
          const bool lower = (folding.place & distance) == 0;
          kept = lower ? low : high;
          given.push_back(lower ? high : low);
          const int peer = folding.peer(distance);
          steps.exchange(peer, Space::work, given.back(), peer, Space::incoming, {0, kept.count});
          steps.combine(kept.begin, Space::incoming, 0, kept.count);
        }
        for (int distance = folding.power / 2; distance >= 1; distance /= 2) {
          const Range back = given.back();
          given.pop_back();
          const int peer = folding.peer(distance);
          steps.exchange(peer, Space::work, kept, peer, Space::work, back);
          kept = {std::min(kept.begin, back.begin), kept.count + back.count};
        }
      };
      return folded(problem, rounds);
    },
}};

}  // namespace
}  // namespace scope
