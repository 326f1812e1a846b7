// The decision rules of the MPI libraries, each as a schedule.
#pragma once

#include "schedule.hpp"

namespace scope {

// Open MPI's component `tuned`; where hosts have several ranks, broadcasts of Open MPI 5 are those of `han`. Throws
// std::logic_error for an operation without rules.
Schedule openmpi_schedule(const Problem& problem, bool hosts_first);

// MPICH's broadcast.
Schedule mpich_broadcast(const Problem& problem);

}  // namespace scope
