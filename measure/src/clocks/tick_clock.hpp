// The calibrated clock of one host; instructions of the timed part cannot move across a read. With a simulating
// MPI, it is the clock of the simulation.
#pragma once

#include <mpi.h>

#include <cmath>
#include <string>

#include "mpi/simulated.hpp"
#include "timer/timer.hpp"

namespace scope {

enum class ClockChoice { automatic, clock_gettime };

constexpr double calibration_s = 0.05;

class TickClock {
 public:
  // Chooses the source; the frequency is unknown before `calibrate` or `set_frequency`.
  explicit TickClock(ClockChoice choice);

  Ticks now() const {
    if constexpr (mpi_simulates) return std::llround(MPI_Wtime() * 1e9);
    return register_ ? serialized_register_ticks() : nanoseconds_of(CLOCK_MONOTONIC);
  }
  double seconds(Ticks ticks) const { return static_cast<double>(ticks) * seconds_per_tick_; }

  bool uses_register() const { return register_; }
  const char* source() const;
  const std::string& fallback_reason() const { return fallback_reason_; }
  double frequency_hz() const { return 1.0 / seconds_per_tick_; }

  // Compares the register, if it is used, with the raw monotonic clock over `duration_s`.
  void calibrate(double duration_s);
  void set_frequency(double frequency_hz) { seconds_per_tick_ = 1.0 / frequency_hz; }

 private:
  bool register_ = false;
  double seconds_per_tick_ = 1e-9;
  std::string fallback_reason_;
};

// Quality of a clock, measured by this process.
struct ClockQuality {
  double resolution_s;  // the step in which the clock counts
  double overhead_s;    // median cost of a start/stop pair with nothing in between
  bool monotonic;       // whether no read of the measurement was earlier than the previous one
};
ClockQuality assess(const TickClock& clock);

}  // namespace scope
