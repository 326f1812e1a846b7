// A barrier of our own, so that the library's does not decide how the timed operation begins.
#pragma once

#include "mpi/communicator.hpp"

namespace scope {

// Dissemination barrier: ceil(log2 p) rounds (Hensgen, Finkel and Manber, 1988).
void dissemination_barrier(const Communicator& communicator);

}  // namespace scope
