// The BLAS and LAPACK found when the program was built. They are loaded when a benchmark first requests a
// routine: a host without them lacks only these benchmarks, and other benchmarks do not pay for loading them.
#pragma once

#include <string>

#include "blas/fortran.hpp"

namespace scope::blas {

// Why there is no BLAS; empty if there is one.
std::string absent();

// Makes the library's names visible to libraries that are loaded later.
void make_global();

// Throws Unavailable if the library is not on this host or lacks the routine (`dgemm`, `dgetrf`, ...).
void* address(const std::string& routine);

// Makes the library compute with this many threads. Throws Unavailable if it has no call for that and the number
// is not 1, which the launch sets.
void set_threads(int threads);

class Routine : public FortranRoutine {
 public:
  explicit Routine(const std::string& name) : FortranRoutine(address(name)) {}
};

// `gemm` of this precision: dgemm or sgemm.
template <class Real>
Routine routine(const std::string& name) {
  return Routine((sizeof(Real) == sizeof(double) ? "d" : "s") + name);
}

}  // namespace scope::blas
