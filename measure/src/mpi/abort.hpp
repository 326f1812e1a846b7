// The end of all ranks because of one.
#pragma once

#include <mpi.h>

#include <string>

namespace scope {

// Prints `message` in one piece, since other ranks may print at the same time, and ends all ranks with this exit code.
[[noreturn]] void abort_all(MPI_Comm communicator, int code, const std::string& message);

}  // namespace scope
