// MPI functions that not every library has. A program for one library knows them at compile time (CMakeLists.txt). A
// program that is precompiled for an ABI (SCOPE_ANY_LIBRARY) asks the library at run time and has weak references to them.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#if defined(SCOPE_ANY_LIBRARY)
#include "weak_mpi.hpp"  // generated
#endif

namespace scope {

// Whether the library of this run has a function that the program was compiled with.
inline bool library_has([[maybe_unused]] const char* function) {
#if defined(SCOPE_ANY_LIBRARY)
  return dlsym(RTLD_DEFAULT, function) != nullptr;
#else
  return true;
#endif
}

}  // namespace scope
