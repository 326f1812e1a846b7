// Executes one rank's program with MPI.
#pragma once

#include <mpi.h>

#include "schedule.hpp"

namespace scope {

// The memory of the spaces, and the size of a unit.
struct Memory {
  const void* input = nullptr;
  void* work = nullptr;
  void* incoming = nullptr;
  void* result = nullptr;
  MPI_Datatype unit = MPI_BYTE;
  MPI_Aint extent = 1;  // bytes from one unit to the next
  MPI_Op op = MPI_OP_NULL;

  char* at(Space space, std::int64_t unit) const;
};

// Returns MPI_SUCCESS or the first error of a call, after which no further step starts.
int execute(const Program& program, const Memory& memory, MPI_Comm comm);

}  // namespace scope
