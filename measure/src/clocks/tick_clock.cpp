#include "clocks/tick_clock.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace scope {
namespace {

Moment raw_moment() {
  return moment_on(CLOCK_MONOTONIC_RAW, 100, serialised_register_ticks);
}

}  // namespace

TickClock::TickClock(ClockChoice choice) {
  if (mpi_simulates) return;
  const char* const objection =
      choice == ClockChoice::clock_gettime ? "clock_gettime was asked for" : register_objection();
  register_ = objection == nullptr;
  if (!register_) fallback_reason_ = objection;
}

const char* TickClock::source() const {
  if (mpi_simulates) return "simulated";
  return register_ ? register_name() : "clock_gettime";
}

void TickClock::calibrate(double duration_s) {
  if (!register_) return;
  const Moment first = raw_moment();
  Moment last = first;
  while (static_cast<double>(last.nanoseconds - first.nanoseconds) < duration_s * 1e9) last = raw_moment();
  seconds_per_tick_ = static_cast<double>(last.nanoseconds - first.nanoseconds) * 1e-9 /
                      static_cast<double>(last.ticks - first.ticks);
}

// The largest step of which all others are multiples; where reads are faster than the clock, the smallest.
ClockQuality assess(const TickClock& clock) {
  // The step of its ticks; reading it takes no simulated time.
  if (mpi_simulates) return {clock.seconds(1), 0, true};
  constexpr int reads = 20'000;
  Ticks smallest = std::numeric_limits<Ticks>::max();
  Ticks divisor = 0;
  bool monotonic = true;
  bool faster = false;
  std::array<Ticks, reads> steps;
  Ticks previous = clock.now();
  for (auto& step : steps) {
    const Ticks now = clock.now();
    step = now - previous;
    previous = now;
    monotonic = monotonic && step >= 0;
    faster = faster || step == 0;
    if (step <= 0) continue;
    smallest = std::min(smallest, step);
    divisor = std::gcd(divisor, step);
  }
  std::nth_element(steps.begin(), steps.begin() + reads / 2, steps.end());
  return {clock.seconds(faster ? smallest : divisor), clock.seconds(steps[reads / 2]), monotonic};
}

}  // namespace scope
