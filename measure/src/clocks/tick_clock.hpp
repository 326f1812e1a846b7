// The clock of one host: the processor's time stamp register where it is fit, else the operating system's.
//
// Register reads are serialised on both sides ("anti-warping", thesis 6.3.5): no instruction of the timed
// part moves across a read. Ticks of all processes of one host are on one scale.
#pragma once

#include <time.h>

#include <cstdint>
#include <string>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace scope {

using Ticks = std::int64_t;

inline Ticks monotonic_nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

inline Ticks register_ticks() {
#if defined(__x86_64__)
  _mm_lfence();
  const auto ticks = static_cast<Ticks>(__rdtsc());
  _mm_lfence();
  return ticks;
#elif defined(__aarch64__)
  Ticks ticks;
  asm volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks)::"memory");
  return ticks;
#elif defined(__powerpc64__)
  Ticks ticks;
  asm volatile("sync\n\tmftb %0\n\tisync" : "=r"(ticks)::"memory");
  return ticks;
#else
  return monotonic_nanoseconds();
#endif
}

enum class ClockChoice { automatic, clock_gettime };

class TickClock {
 public:
  // Chooses the source; the frequency is not known before `calibrate` or `set_frequency`.
  explicit TickClock(ClockChoice choice);

  Ticks now() const { return register_ ? register_ticks() : monotonic_nanoseconds(); }
  double seconds(Ticks ticks) const { return static_cast<double>(ticks) * seconds_per_tick_; }

  bool uses_register() const { return register_; }
  const char* source() const;
  const std::string& fallback_reason() const { return fallback_reason_; }
  double frequency_hz() const { return 1.0 / seconds_per_tick_; }

  // Compares the register with the raw monotonic clock over `duration_s`.
  void calibrate(double duration_s);
  void set_frequency(double frequency_hz) { seconds_per_tick_ = 1.0 / frequency_hz; }

 private:
  bool register_ = false;
  double seconds_per_tick_ = 1e-9;
  std::string fallback_reason_;
};

// What a clock can do, measured on this process.
struct ClockQuality {
  double resolution_s;  // smallest step between two successive reads that differ
  double overhead_s;    // median cost of a start/stop pair with nothing between
  bool monotonic;       // no step backwards among the reads of the measurement
};
ClockQuality assess(const TickClock& clock);

}  // namespace scope
