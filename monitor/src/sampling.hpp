// The time series: what the operating system says of this process, whenever a call ends after the interval.
#pragma once

#include "tables.hpp"

namespace scope {

// The zero of all that is counted since MPI was up; the interval in ticks.
void begin_sampling(u8 now, u8 interval);

// Adds a row up to `now`, and what the operating system says to the process's row.
void sample(u8 now);

// The last row, however short.
void end_sampling(u8 now);

// MPI_Pcontrol: the time up to now belongs to the region that ends, what follows to `number`.
void enter_region(i4 number, u8 now);

}  // namespace scope
