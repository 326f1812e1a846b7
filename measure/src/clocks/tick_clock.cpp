#include "clocks/tick_clock.hpp"

#include <algorithm>
#include <array>
#include <limits>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace scope {
namespace {

// Empty when the register counts at a constant rate in every power state, else why it must not be used.
std::string register_objection() {
#if defined(__x86_64__)
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  // Invariant TSC: CPUID 8000_0007h, EDX bit 8 (AMD64 and Intel 64 manuals).
  if (__get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) == 0) return "the processor does not describe its TSC";
  return (edx & (1u << 8)) != 0 ? "" : "the processor's TSC is not invariant";
#elif defined(__aarch64__) || defined(__powerpc64__)
  return "";
#else
  return "no register timer is known for this architecture";
#endif
}

Ticks raw_nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

struct Reading {
  Ticks ticks;
  double nanoseconds;
};

// The reading of both clocks that took least time, so that an interruption does not spoil the calibration.
Reading simultaneous_reading() {
  Ticks best_width = std::numeric_limits<Ticks>::max();
  Reading best{};
  for (int attempt = 0; attempt < 100; ++attempt) {
    const Ticks before = register_ticks();
    const Ticks nanoseconds = raw_nanoseconds();
    const Ticks after = register_ticks();
    if (after - before < best_width) {
      best_width = after - before;
      best = {before + (after - before) / 2, static_cast<double>(nanoseconds)};
    }
  }
  return best;
}

}  // namespace

TickClock::TickClock(ClockChoice choice) {
  fallback_reason_ =
      choice == ClockChoice::clock_gettime ? "clock_gettime was asked for" : register_objection();
  register_ = fallback_reason_.empty();
}

const char* TickClock::source() const {
  if (!register_) return "clock_gettime";
#if defined(__x86_64__)
  return "tsc";
#elif defined(__aarch64__)
  return "cntvct";
#else
  return "timebase";
#endif
}

void TickClock::calibrate(double duration_s) {
  if (!register_) return;
  const Reading first = simultaneous_reading();
  Reading last = first;
  while (last.nanoseconds - first.nanoseconds < duration_s * 1e9) last = simultaneous_reading();
  seconds_per_tick_ =
      (last.nanoseconds - first.nanoseconds) * 1e-9 / static_cast<double>(last.ticks - first.ticks);
}

ClockQuality assess(const TickClock& clock) {
  constexpr int reads = 20'000;
  Ticks smallest = std::numeric_limits<Ticks>::max();
  bool monotonic = true;
  std::array<Ticks, reads> steps;
  Ticks previous = clock.now();
  for (auto& step : steps) {
    const Ticks now = clock.now();
    step = now - previous;
    previous = now;
    monotonic = monotonic && step >= 0;
    if (step > 0) smallest = std::min(smallest, step);
  }
  std::nth_element(steps.begin(), steps.begin() + reads / 2, steps.end());
  return {clock.seconds(smallest), clock.seconds(steps[reads / 2]), monotonic};
}

}  // namespace scope
