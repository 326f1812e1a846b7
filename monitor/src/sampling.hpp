// The time series: the operating system's counts for this process, read when a call ends after the interval.
#pragma once

#include "tables.hpp"

namespace scope {

// Sets the origin of all counts, when MPI is up, and the interval in ticks.
void begin_sampling(u8 now, u8 interval);

// Adds a row up to `now`, which may be shorter, and updates the process's row with the operating system's counts.
void sample(u8 now);

// Attributes the time up to now to the region that ends, and later time to region `number`.
void enter_region(i4 number, const char* name, u8 now);

}  // namespace scope
