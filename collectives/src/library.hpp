// The MPI library's own algorithms as schedules, with ranks in order and by its documented or published rules.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include <optional>
#include <string_view>

#include "algorithms.hpp"
#include "library/rules.hpp"
#include "schedule.hpp"

namespace scope {

// The two series of Open MPI decide differently if hosts have several ranks.
enum class Library { openmpi4, openmpi5, mpich };
inline constexpr int library_count = 3;
// The flat schedule nearest to the library's algorithm; MPICH's rules are used for libraries other than Open MPI.
inline const char* closest(const Problem& problem) {
  const std::int64_t bytes = problem.units * problem.unit_bytes;
  switch (problem.operation) {
    case Operation::reduce:
    case Operation::gather:
    case Operation::scatter: return "flat_binomial";
    case Operation::allreduce: return bytes < 2048 ? "flat_recursive_doubling" : "flat_halving_doubling";
    case Operation::allgather: return bytes * problem.ranks() < 81920 ? "flat_dissemination" : "flat_ring";
    case Operation::alltoall: return "flat_pairwise";
    case Operation::barrier:
    case Operation::broadcast: break;
  }
  return "flat_dissemination";
}

inline const char* name_of(Library library) {
  static constexpr const char* names[library_count] = {"openmpi4", "openmpi5", "mpich"};
  return names[static_cast<int>(library)];
}
inline std::optional<Library> library_named(std::string_view name) {
  for (int i = 0; i < library_count; ++i)
    if (name == name_of(static_cast<Library>(i))) return static_cast<Library>(i);
  return std::nullopt;
}

// The MPI with which this file is compiled.
inline Library this_library() {
#if defined(OPEN_MPI) && defined(SCOPE_ANY_LIBRARY)  // compiled for all libraries with this ABI
  return dlsym(RTLD_DEFAULT, "MPI_Psend_init") ? Library::openmpi5 : Library::openmpi4;
#elif defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
  return Library::openmpi4;
#elif defined(OPEN_MPI)
  return Library::openmpi5;
#else
  return Library::mpich;
#endif
}

// Whether the library's rules for an operation are known.
inline bool has_rules(Operation operation, Library library) {
  return operation == Operation::broadcast || library != Library::mpich;
}

// The library's algorithm by its own decision rules if they are known; otherwise our nearest flat schedule.
inline Schedule library_schedule(const Problem& problem, Library library) {
  if (!has_rules(problem.operation, library))
    return find_algorithm(problem.operation, closest(problem))->make(problem);
  if (library == Library::mpich) return mpich_broadcast(problem);
  return openmpi_schedule(problem, library == Library::openmpi5);
}

}  // namespace scope
