// Other tools between the program and its MPI library.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <string>

#include "next.hpp"

namespace scope {

struct Tools {
  std::string file;    // the library of another tool; empty: none
  std::string hidden;  // routines that this tool intercepts before the monitor, each after a space
};

// The file that contains a routine; empty if the program only references it.
inline std::string file_with(void* routine) {
  Dl_info info{};
  ElfW(Sym)* symbol = nullptr;
  void** const place = reinterpret_cast<void**>(&symbol);
  if (!routine || !dladdr1(routine, &info, place, RTLD_DL_SYMENT) || !info.dli_fname) return "";
  return symbol && symbol->st_shndx == SHN_UNDEF ? "" : info.dli_fname;
}

// Determines who receives the calls of each routine. A tool behind the monitor receives all calls from it. A tool
// before it (a library preloaded first, or part of the program) decides what the monitor sees: usually nothing.
inline Tools other_tools() {
  Tools before;
  std::string behind;
  const std::string own = file_with(reinterpret_cast<void*>(&other_tools));
  const std::string library = file_with(dlsym(mpi_library, "PMPI_Init"));
  void* const here = dlopen(own.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  void** const passed_on = reinterpret_cast<void**>(&next);
  for (int i = 1; here && i < routine_count; ++i) {
    const std::string name = std::string("MPI_") + routine_names[i];
    void* const entry = dlsym(here, name.c_str());
    if (void* const first = dlsym(RTLD_DEFAULT, name.c_str()); entry && first != entry) {
      if (const std::string file = file_with(first); !file.empty()) {
        before.file = file;
        before.hidden += ' ' + name;
      }
    }
    if (behind.empty() && passed_on[i - 1] != dlsym(mpi_library, ('P' + name).c_str()))
      if (const std::string file = file_with(passed_on[i - 1]); file != library) behind = file;
  }
  return before.hidden.empty() ? Tools{behind, ""} : before;
}

}  // namespace scope
