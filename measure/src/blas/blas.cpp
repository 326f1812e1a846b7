#include "blas/blas.hpp"

#include <dlfcn.h>

#include "benchmark.hpp"
#include "blas/beside_program.hpp"

namespace scope::blas {
namespace {

constexpr const char* prefix = SCOPE_BLAS_PREFIX;  // of every symbol name, set by the build

const std::string& library() {
  static const std::string path = beside_program("blas");
  return path;
}

void* loaded() {
  static void* const handle = dlopen(library().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    throw Unavailable(reason != nullptr ? reason : library() + " cannot be loaded");
  }
  return handle;
}

}  // namespace

std::string absent() {
  return !library().empty() ? "" : "no BLAS was found; scope doctor says how to get one";
}

void make_global() {
  if (dlopen(library().c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) loaded();  // throws the reason
}

void* address(const std::string& routine) {
  if (!absent().empty()) throw Unavailable(absent());
  void* found = dlsym(loaded(), (prefix + routine + "_").c_str());
  if (found == nullptr) throw Unavailable(library() + " has no " + routine);
  return found;
}

}  // namespace scope::blas
