// Scope's own barrier, so that the library's barrier does not influence the start of the timed operation.
#pragma once

#include "mpi/communicator.hpp"

namespace scope {

// Dissemination barrier: ceil(log2 p) rounds (Hensgen, Finkel and Manber, 1988).
inline void dissemination_barrier(const Communicator& communicator) {
  constexpr int tag = 2;
  const int size = communicator.size();
  const int rank = communicator.rank();
  char token = 0;
  char theirs = 0;
  for (int distance = 1; distance < size; distance *= 2) {
    MPI_Sendrecv(&token, 1, MPI_CHAR, (rank + distance) % size, tag, &theirs, 1, MPI_CHAR,
                 (rank - distance + size) % size, tag, communicator.handle(), MPI_STATUS_IGNORE);
  }
}

}  // namespace scope
