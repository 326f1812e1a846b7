// The BLAS and LAPACK found when the program was built. They are loaded when a benchmark first requests a
// routine: a host without them lacks only those benchmarks, and no other benchmark pays for loading them.
#pragma once

#include <cstddef>
#include <string>

namespace scope {

// Fortran's calling convention, as in every BLAS: all arguments by address, followed by the lengths of
// character arguments, which some compilers ignore.
using CharacterLength = std::size_t;

template <class Real>
using MatrixMultiply = void(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
                            const int* k, const Real* alpha, const Real* a, const int* leading_a, const Real* b,
                            const int* leading_b, const Real* beta, Real* c, const int* leading_c, CharacterLength,
                            CharacterLength);

namespace blas {

// Why there is no BLAS; empty when there is one.
std::string absent();

// Makes its names known to libraries that are loaded later.
void make_global();

// Throws Unavailable when the library is not on this host or lacks the routine (`dgemm`, `dgetrf`, ...).
void* address(const std::string& routine);

// From now on the library computes with so many threads. Throws Unavailable where it has no call for that and the number
// is not 1, which the launch sets.
void set_threads(int threads);

template <class Signature>
Signature* routine(const std::string& name) {
  return reinterpret_cast<Signature*>(address(name));
}

// A routine without a result, called with any arguments.
class Routine {
 public:
  explicit Routine(const std::string& name) : address_(address(name)) {}

  template <class... Arguments>
  void operator()(Arguments... arguments) const {
    reinterpret_cast<void (*)(Arguments...)>(address_)(arguments...);
  }

 private:
  void* address_;
};

}  // namespace blas
}  // namespace scope
