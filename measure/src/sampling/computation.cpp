#include "sampling/computation.hpp"

#include <algorithm>

namespace scope {
namespace {

constexpr std::int64_t calibration_steps = 20'000;
constexpr int calibration_tries = 9;

}  // namespace

Computation::Computation(const TickClock& ticks) {
  for (int i = 0; i < calibration_tries; ++i) {
    const Ticks start = ticks.now();
    run(calibration_steps);
    const double step_s = ticks.seconds(ticks.now() - start) / static_cast<double>(calibration_steps);
    step_s_ = i == 0 ? step_s : std::min(step_s_, step_s);
  }
}

std::int64_t Computation::steps_for(double seconds) const {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(seconds / step_s_));
}

// Marsaglia 2003, "Xorshift RNGs": no compiler can shorten the chain.
void Computation::run(std::int64_t steps) {
  std::uint64_t state = state_;
  for (std::int64_t i = 0; i < steps; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
  }
  state_ = state;
}

}  // namespace scope
