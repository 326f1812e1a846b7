// The BLAS and LAPACK that `scope build` found. They are loaded when a benchmark first asks
// for a routine, so that a host without them lacks those benchmarks only, and no other one pays for them.
#pragma once

#include <cstddef>
#include <string>

namespace scope {

// Fortran's calling convention, which every BLAS has: everything by address, and the lengths of the
// characters, which a compiler may or may not look at, behind all other arguments.
using CharacterLength = std::size_t;

template <class Real>
using MatrixMultiply = void(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
                            const int* k, const Real* alpha, const Real* a, const int* leading_a,
                            const Real* b, const int* leading_b, const Real* beta, Real* c,
                            const int* leading_c, CharacterLength, CharacterLength);

namespace blas {

// Why there is no BLAS; empty when there is one.
std::string absent();

// Makes its names known to libraries that are loaded later.
void make_global();

// Throws Unavailable when the library is not on this host or lacks the routine (`dgemm`, `dgetrf`, ...).
void* address(const std::string& routine);

template <class Signature>
Signature* routine(const std::string& name) {
  return reinterpret_cast<Signature*>(address(name));
}

// A routine without a result, called with whatever it takes.
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
