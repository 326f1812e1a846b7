// Work for the processor that takes a known time and touches no memory, to hide communication behind.
#pragma once

#include <cstdint>

#include "clocks/tick_clock.hpp"

namespace scope {

class Computation {
 public:
  // Measures the time of a step: the shortest of a few runs, which nothing disturbed.
  explicit Computation(const TickClock& ticks);

  // Steps that take this long on an undisturbed processor; at least one.
  std::int64_t steps_for(double seconds) const;

  // Does this many steps, each of which depends on the one before.
  void run(std::int64_t steps);

 private:
  double step_s_ = 0;
  std::uint64_t state_ = 88172645463325252u;
};

}  // namespace scope
