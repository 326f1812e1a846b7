// The clock with which Scope measures, for C++ programs (C++17 or later); links nothing but, before glibc 2.34, libdl.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstring>

#include "timer/quality.hpp"
#include "timer/timer.hpp"

namespace scope::timer {

// A reading that no instruction of the timed part crosses.
inline Ticks read_serialized() {
  return counts_by_register ? serialized_register_ticks() : nanoseconds_of(CLOCK_MONOTONIC);
}

inline Moment raw_moment() { return moment_on(CLOCK_MONOTONIC_RAW, 100, serialized_register_ticks); }

// Where the program began, so that a later calibration has a long interval for nothing.
inline const Moment begin = counts_by_register ? raw_moment() : Moment{};

// Calibrates the register against the raw monotonic clock over the time since the program began, at least 20 ms.
inline double calibrated_frequency() {
  if (!counts_by_register) return 1e9;
  constexpr Ticks shortest_ns = 20'000'000;
  Moment end = raw_moment();
  while (end.nanoseconds - begin.nanoseconds < shortest_ns) end = raw_moment();
  return static_cast<double>(end.ticks - begin.ticks) * 1e9 /
         static_cast<double>(end.nanoseconds - begin.nanoseconds);
}

// Ticks per second.
inline double frequency() {
  static const double hz = calibrated_frequency();
  return hz;
}

inline double seconds(Ticks interval) { return static_cast<double>(interval) / frequency(); }

inline const TickQuality& quality() {
  static const TickQuality found = quality_of<1000>(read_serialized);
  return found;
}

// Adds up the time between start() and stop(). Belongs to one thread.
class Stopwatch {
 public:
  void start() { started_ = read_serialized(); }
  void stop() {
    elapsed_ += read_serialized() - started_;
    ++intervals_;
  }
  void reset() { *this = {}; }
  std::int64_t intervals() const { return intervals_; }
  // The sum of all finished intervals, without the overhead of the readings.
  double seconds() const {
    const Ticks net = elapsed_ - intervals_ * quality().pair;
    return net > 0 ? timer::seconds(net) : 0.0;
  }

 private:
  Ticks elapsed_ = 0;
  Ticks started_ = 0;
  std::int64_t intervals_ = 0;
};

namespace detail {

// The monitor of Scope has this function; no program is linked to it.
using Enter = void (*)(int number, const char* name);

inline Enter monitor() {
  static const Enter found = reinterpret_cast<Enter>(dlsym(RTLD_DEFAULT, "scope_monitor_enter_region"));
  return found;
}

// A number that is equal on every rank, without a message: FNV-1a of the name, never a level that MPI_Pcontrol knows.
inline int number_of(const char* name) {
  std::uint32_t hash = 2166136261u;
  for (; *name != '\0'; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 16777619u;
  return static_cast<int>((hash & 0x3fffffffu) | 0x40000000u);
}

// Regions that are open, the outermost first; those that are too deep count as the last that fits.
constexpr int deepest = 64;
constexpr int longest_name = 63;
struct Open {
  int depth = 0;
  char names[deepest + 1][longest_name + 1] = {};  // the first is outside of all regions
};
inline Open open;

inline void enter_innermost() {
  const char* const name = open.names[open.depth < deepest ? open.depth : deepest];
  monitor()(open.depth > 0 ? number_of(name) : 0, name);
}

}  // namespace detail

// Begin and end a named part of the program, which `scope monitor` shows separately.
inline void begin_region(const char* name) {
  if (detail::monitor() == nullptr) return;
  if (++detail::open.depth > detail::deepest) return;
  char* const kept = detail::open.names[detail::open.depth];
  std::strncpy(kept, name, detail::longest_name);
  detail::enter_innermost();
}

inline void end_region() {
  if (detail::monitor() == nullptr || detail::open.depth == 0) return;
  if (--detail::open.depth < detail::deepest) detail::enter_innermost();
}

// A region as long as this object lives.
class Region {
 public:
  explicit Region(const char* name) { begin_region(name); }
  ~Region() { end_region(); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
};

}  // namespace scope::timer
