// The common part of the Fortran wrappers. MPICH's Fortran library calls the C entries, except for routines of
// `use mpi_f08` without a buffer; Open MPI's library calls the PMPI routines directly and bypasses our C entries.
// So an entry of mpif.h, `use mpi` or `use mpi_f08` counts the call if no C entry behind it does. Other entries
// only record the caller, because the C entry would otherwise see the Fortran library as the caller. All
// arguments are passed on unchanged; values are read only for counting.
#pragma once

#include <dlfcn.h>

#include <string>

#include "entries.hpp"

namespace scope {

// The entry of MPI's Fortran library behind ours, looked up at its first call.
inline void* entry_behind(const char* one, const char* other) {
  void* found = dlsym(RTLD_NEXT, one);
  return found ? found : dlsym(RTLD_NEXT, other);
}

// Records the caller, which only the outermost entry knows.
class Noted {
 public:
  explicit Noted(const void* caller) : first_(!thread.fortran_caller) {
    if (first_) thread.fortran_caller = caller;
  }
  Noted(const Noted&) = delete;
  ~Noted() {
    if (first_) thread.fortran_caller = nullptr;
  }

 private:
  bool first_;
};

inline MPI_Fint integer_at(const void* address) { return *static_cast<const MPI_Fint*>(address); }

inline std::string text_of(const void* text, std::size_t length) {
  const std::string padded(static_cast<const char*>(text), length);
  return padded.substr(0, padded.find_last_not_of(' ') + 1);
}

struct FortranTypes {
  const void* handles;
  MPI_Datatype operator[](u8 i) const { return type_of(static_cast<const MPI_Fint*>(handles)[i]); }
};

// The index of the first request in completion arrays: 1, but 0 in MPICH 4.0 under `use mpi_f08`. Recognized by
// an index that is valid in only one of these cases, or by the handle that was cleared.
inline int first_index(const void* requests, int count, int index) {
#if defined(OPEN_MPI)
  (void)requests, (void)count, (void)index;
  return 1;
#else
  static int known = -1;
  const auto* handles = static_cast<const MPI_Fint*>(requests);
  const auto cleared = [&](int i) { return handles[i] == static_cast<MPI_Fint>(MPI_REQUEST_NULL); };
  if (known < 0 && index == 0) known = 0;
  if (known < 0 && (index == count || (cleared(index - 1) && !cleared(index)))) known = 1;
  if (known < 0 && cleared(index) && !cleared(index - 1)) known = 0;
  return known < 0 ? 1 : known;
#endif
}

}  // namespace scope

#if defined(OPEN_MPI)

// Fortran constants are addresses of common blocks of Open MPI's Fortran library. They are weak symbols here:
// a C program does not load that library, and the addresses are then null and differ from all arguments.
#define SCOPE_SENTINEL(lower, upper)                                                                             \
  extern "C" {                                                                                                   \
  extern char lower __attribute__((weak));                                                                       \
  extern char lower##_ __attribute__((weak));                                                                    \
  extern char lower##__ __attribute__((weak));                                                                   \
  extern char upper __attribute__((weak));                                                                       \
  }                                                                                                              \
  static bool is_##lower(const void* address) {                                                                  \
    return address && (address == &lower || address == &lower##_ || address == &lower##__ || address == &upper); \
  }
SCOPE_SENTINEL(mpi_fortran_bottom, MPI_FORTRAN_BOTTOM)
SCOPE_SENTINEL(mpi_fortran_in_place, MPI_FORTRAN_IN_PLACE)
SCOPE_SENTINEL(mpi_fortran_status_ignore, MPI_FORTRAN_STATUS_IGNORE)
SCOPE_SENTINEL(mpi_fortran_statuses_ignore, MPI_FORTRAN_STATUSES_IGNORE)

static const void* buffer_of(const void* address) {
  if (is_mpi_fortran_in_place(address)) return MPI_IN_PLACE;
  return is_mpi_fortran_bottom(address) ? MPI_BOTTOM : address;
}
// A Fortran status has the contents of the C one in another type.
static MPI_Status* status_of(void* address) {
  const bool ignored = is_mpi_fortran_status_ignore(address) || is_mpi_fortran_statuses_ignore(address);
  return ignored ? MPI_STATUS_IGNORE : static_cast<MPI_Status*>(address);
}

#else

static const void* buffer_of(const void* address) { return address; }
static MPI_Status* status_of(void* address) {
  static const void* const* const one = static_cast<void**>(dlsym(RTLD_DEFAULT, "MPI_F08_STATUS_IGNORE"));
  static const void* const* const many = static_cast<void**>(dlsym(RTLD_DEFAULT, "MPI_F08_STATUSES_IGNORE"));
  const bool ignored = (one && address == *one) || (many && address == *many);
  return ignored ? MPI_STATUS_IGNORE : static_cast<MPI_Status*>(address);
}

#endif

#define SCOPE_CALLER __builtin_return_address(0)

#define SCOPE_COUNTS(routine, symbol, one, other, returns, parameters, counted) \
  SCOPE_ENTRY returns symbol parameters {                                       \
    static void* theirs = nullptr;                                              \
    if (!theirs) theirs = entry_behind(one, other);                             \
    SCOPE_NEXT                                                                  \
    return fortran_##routine counted;                                           \
  }

#define SCOPE_NOTES(symbol, one, returns, parameters, arguments)      \
  SCOPE_ENTRY returns symbol parameters {                             \
    static void* theirs = nullptr;                                    \
    if (!theirs) theirs = entry_behind(one, one);                     \
    const Noted noted(SCOPE_CALLER);                                  \
    return reinterpret_cast<returns(*) parameters>(theirs) arguments; \
  }

// An entry under another name.
#define SCOPE_ALSO(symbol, name, returns, parameters) \
  SCOPE_ENTRY returns name parameters __attribute__((alias(#symbol)));

#define SCOPE_MANGLED(lower, UPPER, returns, parameters)           \
  SCOPE_ALSO(mpi_##lower##_, mpi_##lower##__, returns, parameters) \
  SCOPE_ALSO(mpi_##lower##_, mpi_##lower, returns, parameters)     \
  SCOPE_ALSO(mpi_##lower##_, MPI_##UPPER, returns, parameters)

// One routine under all the names of compilers and modules.
#if defined(OPEN_MPI)
#define SCOPE_FORTRAN(routine, lower, UPPER, returns, parameters, arguments, counted)                         \
  SCOPE_COUNTS(routine, mpi_##lower##_, "mpi_" #lower "_", "ompi_" #lower "_f", returns, parameters, counted) \
  SCOPE_MANGLED(lower, UPPER, returns, parameters)                                                            \
  SCOPE_ALSO(mpi_##lower##_, ompi_##lower##_f, returns, parameters)                                           \
  SCOPE_COUNTS(routine, mpi_##lower##_f08_, "mpi_" #lower "_f08_", "", returns, parameters, counted)
#define SCOPE_FORTRAN_LOCAL SCOPE_FORTRAN
#define SCOPE_FORTRAN_LARGE(routine, lower, UPPER, returns, parameters, arguments, counted)
#else
#define SCOPE_FORTRAN_LOCAL(routine, lower, UPPER, returns, parameters, arguments, counted) \
  SCOPE_COUNTS(routine, mpi_##lower##_f08_, "mpi_" #lower "_f08_", "", returns, parameters, counted)
#define SCOPE_FORTRAN(routine, lower, UPPER, returns, parameters, arguments, counted)        \
  SCOPE_FORTRAN_LOCAL(routine, lower, UPPER, returns, parameters, arguments, counted)        \
  SCOPE_NOTES(mpi_##lower##_f08ts_, "mpi_" #lower "_f08ts_", returns, parameters, arguments) \
  SCOPE_NOTES(mpi_##lower##_, "mpi_" #lower "_", returns, parameters, arguments)             \
  SCOPE_MANGLED(lower, UPPER, returns, parameters)
#define SCOPE_FORTRAN_LARGE(routine, lower, UPPER, returns, parameters, arguments, counted)                      \
  SCOPE_COUNTS(routine, mpi_##lower##_f08_large_, "mpi_" #lower "_f08_large_", "", returns, parameters, counted) \
  SCOPE_NOTES(mpi_##lower##_f08ts_large_, "mpi_" #lower "_f08ts_large_", returns, parameters, arguments)
#endif
