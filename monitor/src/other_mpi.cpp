// Handles programs of an MPI other than the one this library was built for: handles, constants and statuses
// differ, so that even passing calls on would be wrong. Such a program is started again without the library.
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

#include "options.hpp"

namespace scope {

namespace {

#if defined(OPEN_MPI)
constexpr const char* built_for = "Open MPI";
#elif defined(MPICH_VERSION)
constexpr const char* built_for = "MPICH";
#else
constexpr const char* built_for = nullptr;
#endif

// The family of the MPI loaded with the program; nullptr where none is loaded yet.
const char* loaded() {
  void* init = dlsym(RTLD_DEFAULT, "PMPI_Init");
  if (!init) return nullptr;
  Dl_info info{};
  if (dladdr(init, &info) && info.dli_fname && std::strstr(info.dli_fname, "libmpi_abi"))
    return "the standard's ABI";
  return dlsym(RTLD_DEFAULT, "ompi_mpi_init") ? "Open MPI" : "MPICH";
}

std::string without_this_library(const char* preloaded) {
  std::string list = preloaded ? preloaded : "";
  for (char& each : list)
    if (each == ':') each = ' ';
  std::istringstream words(list);
  std::string kept;
  for (std::string word; words >> word;)
    if (word.find("libscope-monitor") == std::string::npos) kept += (kept.empty() ? "" : ":") + word;
  return kept;
}

// The loader passes the program's own arguments.
__attribute__((constructor)) void refuse_another_mpi(int, char** words, char**) {
  const char* here = loaded();
  if (!built_for || !here || std::strcmp(here, built_for) == 0) return;
  complain(std::string("the program uses ") + here + ", this monitor was built for " + built_for +
           "; the program runs unmonitored");
  setenv("LD_PRELOAD", without_this_library(std::getenv("LD_PRELOAD")).c_str(), 1);
  execv("/proc/self/exe", words);
}

}  // namespace

}  // namespace scope
