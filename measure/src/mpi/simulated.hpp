// Support for a simulating MPI, such as SimGrid's: all ranks are in one process and one memory, where one runs at
// a time; their hosts and their time exist only in the simulation.
#pragma once

#include <time.h>

#include <cmath>

namespace scope {

#ifdef SCOPE_MPI_SIMULATES
constexpr bool mpi_simulates = true;
#else
constexpr bool mpi_simulates = false;
#endif

// Simulated time passes in MPI calls and in sleeps, so a rank that polls a simulated clock must sleep. With any
// other MPI, where time passes by itself, returns at once.
inline void let_simulated_time_pass([[maybe_unused]] double seconds) {
  if constexpr (mpi_simulates) {
    const double whole = std::floor(seconds);
    const timespec pause{static_cast<time_t>(whole), static_cast<long>(std::ceil((seconds - whole) * 1e9))};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace scope
