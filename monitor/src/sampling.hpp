// The time series: the operating system's figures for this process, taken when a call ends after the interval.
#pragma once

#include "tables.hpp"

namespace scope {

// The origin of all counts since MPI was up; the interval in ticks.
void begin_sampling(u8 now, u8 interval);

// Adds a row up to `now`, and updates the process's row with the operating system's figures.
void sample(u8 now);

// The last row, possibly shorter.
void end_sampling(u8 now);

// Attributes the time up to now to the ending region, and later time to `number`.
void enter_region(i4 number, const char* name, u8 now);

}  // namespace scope
