// The decision rules of the MPI libraries, each as a schedule.
#pragma once

#include "schedule.hpp"

namespace scope {

// Open MPI's component `tuned`. `hosts_first`: if hosts have several ranks, broadcasts follow component `han`.
Schedule openmpi_schedule(const Problem& problem, bool hosts_first);

// MPICH's broadcast.
Schedule mpich_broadcast(const Problem& problem);

}  // namespace scope
