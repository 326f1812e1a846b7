#include "blas/blas.hpp"

#include <dlfcn.h>

#include "benchmark.hpp"
#include "blas/beside_program.hpp"

namespace scope::blas {
namespace {

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

// Prefix of all its names, which differ between OpenBLAS in a Python package and OpenBLAS in a system.
const std::string& prefix() {
  static const std::string known = dlsym(loaded(), "scipy_dgemm_") != nullptr ? "scipy_" : "";
  return known;
}

}  // namespace

std::string absent() { return !library().empty() ? "" : "no BLAS was found; run `scope doctor`"; }

void make_global() {
  if (dlopen(library().c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) loaded();  // throws with the reason
}

void* address(const std::string& routine) {
  if (!absent().empty()) throw Unavailable(absent());
  void* found = dlsym(loaded(), (prefix() + routine + "_").c_str());
  if (found == nullptr) throw Unavailable(library() + " has no " + routine);
  return found;
}

void set_threads(int threads) {
  // OpenBLAS, with a prefix in wheels; MKL; BLIS, which has longer counts on some machines.
  if (void* found = dlsym(loaded(), (prefix() + "openblas_set_num_threads").c_str()))
    reinterpret_cast<void (*)(int)>(found)(threads);
  else if (void* found = dlsym(loaded(), "MKL_Set_Num_Threads"))
    reinterpret_cast<void (*)(int)>(found)(threads);
  else if (void* found = dlsym(loaded(), "bli_thread_set_num_threads"))
    reinterpret_cast<void (*)(long)>(found)(threads);
  else if (threads != 1)
    throw Unavailable(library() + " has no call that sets the number of its threads");
}

}  // namespace scope::blas
