// The routines behind the monitor. They are looked up at run time instead of linked: the preloaded library must be
// harmless in processes that start MPI programs without being MPI programs, and some programs load their MPI late.
#include "next.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <string>

#include "other_mpi.hpp"

namespace scope {

Next next;
bool next_is_known = false;
void* mpi_library = nullptr;

namespace {

// Finds a library that was loaded by a plug-in and is visible only to that plug-in.
int find_plugged_in(dl_phdr_info* info, std::size_t, void* found) {
  if (!info->dlpi_name || !std::strstr(info->dlpi_name, "mpi")) return 0;
  void* handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle || !dlsym(handle, "PMPI_Init")) return 0;
  *static_cast<void**>(found) = handle;
  return 1;
}

}  // namespace

// Another tool behind the monitor receives the calls before the MPI library does.
bool know_next() {
  void* library = RTLD_DEFAULT;
  if (!dlsym(RTLD_DEFAULT, "PMPI_Init")) {
    library = nullptr;
    dl_iterate_phdr(find_plugged_in, &library);
    if (!library) return false;
  }
  refuse_another_mpi(library);
  void** place = reinterpret_cast<void**>(&next);
  for (int i = 1; i < routine_count; ++i) {
    void* behind = dlsym(RTLD_NEXT, (std::string("MPI_") + routine_names[i]).c_str());
    place[i - 1] = behind ? behind : dlsym(library, (std::string("PMPI_") + routine_names[i]).c_str());
  }
  mpi_library = library;
  next_is_known = true;
  return true;
}

}  // namespace scope
