// An MPI that simulates, as that of SimGrid does: all ranks live in one process and one memory, in which one at a time
// runs; their hosts and their time exist in the simulation only.
#pragma once

#include <time.h>

#include <cmath>

namespace scope {

#ifdef SCOPE_MPI_SIMULATES
constexpr bool mpi_simulates = true;
#else
constexpr bool mpi_simulates = false;
#endif

// Simulated time passes in calls of MPI and in sleeps: a rank that polls a simulated clock must sleep. Returns at once
// under any other MPI, where time passes by itself.
inline void let_simulated_time_pass([[maybe_unused]] double seconds) {
  if constexpr (mpi_simulates) {
    const double whole = std::floor(seconds);
    const timespec pause{static_cast<time_t>(whole), static_cast<long>(std::ceil((seconds - whole) * 1e9))};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace scope
