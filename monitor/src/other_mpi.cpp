// Handles programs that use an MPI other than the one this library was built for: handles, constants and statuses
// differ, so that even passing calls on would be wrong. Such a program is restarted without the library: when it
// is loaded or, if it loads its MPI late, at its first MPI call.
#include "other_mpi.hpp"

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

char** words_of_program = nullptr;

const char* family_of(void* library, void* init) {
  Dl_info info{};
  if (dladdr(init, &info) && info.dli_fname && std::strstr(info.dli_fname, "libmpi_abi"))
    return "the standard's ABI";
  return dlsym(library, "ompi_mpi_init") ? "Open MPI" : "MPICH";
}

std::string without_this_library(const char* preloaded) {
  std::string list = preloaded ? preloaded : "";
  for (char& character : list)
    if (character == ':') character = ' ';
  std::istringstream words(list);
  std::string kept;
  for (std::string word; words >> word;)
    if (word.find("libscope-monitor") == std::string::npos) kept += (kept.empty() ? "" : ":") + word;
  return kept;
}

// The loader passes the program's own arguments.
__attribute__((constructor)) void look_at_program(int, char** words, char**) {
  words_of_program = words;
  if (dlsym(RTLD_DEFAULT, "PMPI_Init")) refuse_another_mpi(RTLD_DEFAULT);
}

}  // namespace

void refuse_another_mpi(void* library) {
  const char* here = family_of(library, dlsym(library, "PMPI_Init"));
  if (!built_for || std::strcmp(here, built_for) == 0) return;
  complain(std::string("the program uses ") + here + ", this monitor was built for " + built_for +
           "; the program runs unmonitored");
  setenv("LD_PRELOAD", without_this_library(std::getenv("LD_PRELOAD")).c_str(), 1);
  execv("/proc/self/exe", words_of_program);
}

}  // namespace scope
