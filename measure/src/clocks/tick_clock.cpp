#include "clocks/tick_clock.hpp"

#include "timer/quality.hpp"

namespace scope {
namespace {

Moment raw_moment() { return moment_on(CLOCK_MONOTONIC_RAW, 100, serialized_register_ticks); }

}  // namespace

TickClock::TickClock(ClockChoice choice) {
  if (mpi_simulates) return;
  const char* const objection =
      choice == ClockChoice::clock_gettime ? "clock_gettime was requested" : register_objection();
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

ClockQuality assess(const TickClock& clock) {
  // The resolution is one tick, and reading the clock does not take simulated time.
  if (mpi_simulates) return {clock.seconds(1), 0, true};
  const auto [resolution, pair, monotonic] = quality_of<20'000>([&clock] { return clock.now(); });
  return {clock.seconds(resolution), clock.seconds(pair), monotonic};
}

}  // namespace scope
