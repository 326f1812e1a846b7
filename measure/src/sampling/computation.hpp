// Work for the processor that takes a known time and touches no memory: something to hide communication
// behind.
#pragma once

#include <cstdint>

#include "clocks/tick_clock.hpp"

namespace scope {

class Computation {
 public:
  // Finds how long a step takes: the shortest of a few tries, which nothing disturbed.
  explicit Computation(const TickClock& ticks);

  // Steps that take so long on an undisturbed processor; one at least.
  std::int64_t steps_for(double seconds) const;

  // Does so many steps, each of which needs the one before it.
  void run(std::int64_t steps);

 private:
  double step_s_ = 0;
  std::uint64_t state_ = 88172645463325252u;
};

}  // namespace scope
