#include "blas/blas.hpp"

#include <dlfcn.h>

#include "benchmark.hpp"

namespace scope::blas {
namespace {

// Both set by the build: a path, or nothing, and the prefix of every symbol name.
constexpr const char* library = SCOPE_BLAS_LIBRARY;
constexpr const char* prefix = SCOPE_BLAS_PREFIX;

void* loaded() {
  static void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    throw Unavailable(reason != nullptr ? reason : std::string(library) + " cannot be loaded");
  }
  return handle;
}

}  // namespace

std::string absent() {
  return *library != '\0' ? ""
                          : "no BLAS was found when the program was built; scope doctor says how to get one";
}

void* address(const std::string& routine) {
  if (!absent().empty()) throw Unavailable(absent());
  void* found = dlsym(loaded(), (prefix + routine + "_").c_str());
  if (found == nullptr) throw Unavailable(std::string(library) + " has no " + routine);
  return found;
}

}  // namespace scope::blas
