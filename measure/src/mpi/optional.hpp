// Functions of MPI that not every library has. A program for one library knows which when it is compiled (CMakeLists.txt).
// One that was compiled beforehand for an ABI (SCOPE_ANY_LIBRARY) asks the library of the run: there they are weak references.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#if defined(SCOPE_ANY_LIBRARY)
#include "weak_mpi.hpp"  // generated
#endif

namespace scope {

// Says whether the library of this run has a function with which the program was compiled.
inline bool library_has([[maybe_unused]] const char* function) {
#if defined(SCOPE_ANY_LIBRARY)
  return dlsym(RTLD_DEFAULT, function) != nullptr;
#else
  return true;
#endif
}

}  // namespace scope
