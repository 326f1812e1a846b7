// Scope's own barrier, so that the library's does not influence the start of the timed operation.
#pragma once

#include "mpi/communicator.hpp"

namespace scope {

// Dissemination barrier: ceil(log2 p) rounds (Hensgen, Finkel and Manber, 1988).
void dissemination_barrier(const Communicator& communicator);

}  // namespace scope
