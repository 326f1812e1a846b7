// The ScaLAPACK found when the program was built. Like the BLAS, it is loaded when a benchmark first requests a
// routine; it must match the MPI that the program uses.
#pragma once

#include <string>

#include "blas/fortran.hpp"
#include "mpi/communicator.hpp"
#include "mpi/process_grid.hpp"

namespace scope::scalapack {

// Why this build has no ScaLAPACK; empty if it has one.
std::string absent();

class Routine : public FortranRoutine {
 public:
  // Throws Unavailable if the library is not on this host or lacks the routine (`pdgetrf`, ...).
  explicit Routine(const std::string& name);
};

// ScaLAPACK's descriptor of a distributed matrix.
using Descriptor = std::array<int, 9>;

// A process grid over a communicator, which ScaLAPACK calls a context.
class Context : NotCopied {
 public:
  Context(const Communicator& communicator, const ProcessGrid& grid);
  ~Context();

  int handle() const { return handle_; }

 private:
  int system_;
  int handle_;
};

// A matrix in square blocks, the first of which is on the first process.
Descriptor descriptor(const Context& context, int rows, int columns, int block, int leading);

}  // namespace scope::scalapack
