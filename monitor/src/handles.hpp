// Handles of any MPI library as numbers, and access to statuses.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstring>

#include "next.hpp"

namespace scope {

// Handles are pointers in some libraries and integers in others.
template <typename Handle>
std::uint64_t key_of(Handle handle) {
  static_assert(sizeof(Handle) <= sizeof(std::uint64_t));
  std::uint64_t key = 0;
  std::memcpy(&key, &handle, sizeof handle);
  return key;
}

// Spreads keys over a table whose size is a power of two; the upper bits are the index.
inline std::uint64_t spread(std::uint64_t key) { return key * 0x9e3779b97f4a7c15u; }

// The same for tables in which any bits may be the index.
inline std::uint64_t mixed(std::uint64_t key) {
  key ^= key >> 32;
  key *= 0x9e3779b97f4a7c15u;
  return key ^ (key >> 29);
}

// Conversion of Fortran handles: functions in some libraries, macros in others.
#if defined(OPEN_MPI)
#define SCOPE_FROM_FORTRAN(name, Handle, routine) \
  inline Handle name(MPI_Fint handle) { return next.routine(handle); }
#else
#define SCOPE_FROM_FORTRAN(name, Handle, routine) \
  inline Handle name(MPI_Fint handle) { return MPI_##routine(handle); }
#endif
SCOPE_FROM_FORTRAN(communicator_of, MPI_Comm, Comm_f2c)
SCOPE_FROM_FORTRAN(type_of, MPI_Datatype, Type_f2c)
SCOPE_FROM_FORTRAN(request_of, MPI_Request, Request_f2c)
SCOPE_FROM_FORTRAN(window_of, MPI_Win, Win_f2c)
SCOPE_FROM_FORTRAN(message_of, MPI_Message, Message_f2c)
#if defined(SCOPE_HAS_Session_init)
SCOPE_FROM_FORTRAN(session_of, MPI_Session, Session_f2c)
#endif
#undef SCOPE_FROM_FORTRAN
inline MPI_File file_of(MPI_Fint handle) { return next.File_f2c(handle); }

// Bytes received.
inline std::uint64_t received_bytes(const MPI_Status& status) {
#if defined(OPEN_MPI)
  return status._ucount;
#elif defined(MPICH_VERSION)
  return static_cast<std::uint64_t>(static_cast<unsigned>(status.count_lo)) |
         static_cast<std::uint64_t>(static_cast<unsigned>(status.count_hi_and_cancelled) >> 1) << 32;
#else
  MPI_Count bytes = 0;
  next.Get_elements_x(&status, MPI_BYTE, &bytes);
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
#endif
}

inline bool was_cancelled(const MPI_Status& status) {
  int flag = 0;
  next.Test_cancelled(&status, &flag);
  return flag != 0;
}

// The predefined handles, looked up when MPI is up, because in some libraries they are addresses of variables that
// a program without MPI does not have.
struct Constants {
  MPI_Comm world;
  MPI_Comm no_communicator;
  MPI_Request no_request;
  MPI_Group no_group;
};
inline Constants constants;

}  // namespace scope
