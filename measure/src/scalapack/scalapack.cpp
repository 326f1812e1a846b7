#include "scalapack/scalapack.hpp"

#include <dlfcn.h>

#include "blas/beside_program.hpp"
#include "blas/blas.hpp"
#include "unavailable.hpp"

namespace scope::scalapack {
namespace {

constexpr const char* mpi_name =
    SCOPE_SCALAPACK_MPI_NAME;  // under which the library imports MPI; set by the build

const std::string& library() {
  static const std::string path = [] {
    const std::string whole = beside_program("scalapack");
    return whole.empty() ? beside_program("libscalapack-joined.so") : whole;
  }();
  return path;
}

[[noreturn]] void fail() {
  const char* reason = dlerror();
  throw Unavailable(reason != nullptr ? reason : library() + " cannot be loaded");
}

void* open(const char* path, int visibility) {
  void* const handle = dlopen(path, RTLD_NOW | visibility);
  if (handle == nullptr) fail();
  return handle;
}

void* loaded() {
  static void* const handle = [] {
    // MPICH's library has two names. The second is a link in this program's directory to the library already in
    // the process, which the loader recognizes, so that it does not load a second MPI.
    if (*mpi_name != '\0') open(mpi_name, RTLD_LOCAL);
    // Global, so that its symbols precede those of the BLAS with which ScaLAPACK was linked.
    if (const std::string names = beside_program("libblas-names.so"); !names.empty()) {
      blas::make_global();
      open(names.c_str(), RTLD_GLOBAL);
    }
    return open(library().c_str(), RTLD_LOCAL);
  }();
  return handle;
}

void* address(const std::string& name) {
  if (!absent().empty()) throw Unavailable(absent());
  void* const found = dlsym(loaded(), name.c_str());
  if (found == nullptr) throw Unavailable(library() + " has no " + name);
  return found;
}

template <class Function>
Function* function(const std::string& name) {
  return reinterpret_cast<Function*>(address(name));
}

}  // namespace

std::string absent() {
  if (!library().empty()) return "";
#if defined(SCOPE_ANY_LIBRARY)
  return "the program that comes with Scope has no ScaLAPACK; run `scope build`";
#else
  return "no ScaLAPACK for this MPI was found; `scope doctor` says how to install one";
#endif
}

Routine::Routine(const std::string& name) : FortranRoutine(address(name + "_")) {}

// Uses the C interface, because the Fortran interface numbers processes incorrectly on a user-defined communicator
// (ScaLAPACK 2.2.1).
Context::Context(const Communicator& communicator, const ProcessGrid& grid)
    : system_(function<int(MPI_Comm)>("Csys2blacs_handle")(communicator.handle())), handle_(system_) {
  function<void(int*, const char*, int, int)>("Cblacs_gridinit")(
      &handle_, grid.order() == GridOrder::rows ? "Row" : "Column", grid.rows(), grid.columns());
}

Context::~Context() {
  function<void(int)>("Cblacs_gridexit")(handle_);
  function<void(int)>("Cfree_blacs_system_handle")(system_);
}

Descriptor descriptor(const Context& context, int rows, int columns, int block, int leading) {
  constexpr int dense = 1;
  return {dense, context.handle(), rows, columns, block, block, 0, 0, leading};
}

}  // namespace scope::scalapack
