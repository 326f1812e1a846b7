// Communication with an equally long computation between its start and end, and each alone, in the same repetition
// and timed in the same way, so that neither changes of the machine nor the clock affect their difference.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "mpi/communicator.hpp"
#include "sampling/computation.hpp"
#include "sampling/repetition.hpp"

namespace scope {

class Overlapped {
 public:
  explicit Overlapped(const Communicator& communicator) : communicator_(communicator) {}

  // Times `both(number, computation, steps)`; `alone(number)` is the communication. `number`: index among the
  // `communications` of the repetition. Observes on every rank, with values of the slowest rank: `exchange_s`,
  // `computation_s` and `hidden_share` = (exchange + computation - both) / the shorter of the two. Collective.
  template <class Alone, class Both>
  void run(Repetition& repetition, Alone&& alone, Both&& both) {
    if (!computation_) computation_.emplace(repetition.ticks());
    const std::int64_t calls = repetition.calls();
    const double exchange_s =
        communicator_.largest(repetition.part_s([&](std::int64_t number) { alone(calls + number); }));
    const std::int64_t steps = computation_->steps_for(exchange_s);
    const double computation_s = communicator_.largest(repetition.part_s([&] { computation_->run(steps); }));
    repetition.time([&](std::int64_t number) { both(number, *computation_, steps); });
    const double both_s =
        communicator_.largest(repetition.times().elapsed_s / static_cast<double>(repetition.operations()));
    const double shorter_s = std::max(std::min(exchange_s, computation_s), 1e-9);
    // The barriers of this cadence belong to neither part.
    if (repetition.cadence() == Cadence::barrier_loop) return;
    repetition.observe("hidden_share", (exchange_s + computation_s - both_s) / shorter_s);
    repetition.observe("exchange_s", exchange_s);
    repetition.observe("computation_s", computation_s);
  }

  static std::int64_t communications(const Repetition& repetition) { return 2 * repetition.calls(); }

 private:
  const Communicator& communicator_;
  std::optional<Computation> computation_;
};

}  // namespace scope
