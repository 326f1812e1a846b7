// Work for the processor that takes a known time and does not use memory, to hide communication.
#pragma once

#include <algorithm>
#include <cstdint>

#include "clocks/tick_clock.hpp"

namespace scope {

constexpr std::int64_t calibration_steps = 20'000;
constexpr int calibration_tries = 9;

class Computation {
 public:
  // Measures the time of a step in the shortest of a few runs, which was undisturbed.
  explicit Computation(const TickClock& ticks) {
    for (int i = 0; i < calibration_tries; ++i) {
      const Ticks start = ticks.now();
      run(calibration_steps);
      const double step_s = ticks.seconds(ticks.now() - start) / static_cast<double>(calibration_steps);
      step_s_ = i == 0 ? step_s : std::min(step_s_, step_s);
    }
  }

  // Number of steps that take this long on an undisturbed processor; at least one.
  std::int64_t steps_for(double seconds) const {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(seconds / step_s_));
  }

  // Does this many steps, each of which depends on the previous one.
  // Marsaglia 2003, "Xorshift RNGs": compilers cannot shorten the chain.
  void run(std::int64_t steps) {
    std::uint64_t state = state_;
    for (std::int64_t i = 0; i < steps; ++i) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
    }
    state_ = state;
  }

 private:
  double step_s_ = 0;
  std::uint64_t state_ = 88172645463325252u;
};

}  // namespace scope
