// The Fortran entries. MPICH's Fortran library calls the C entries, which suffices; Open MPI's calls the PMPI
// routines directly, so its entries are here: mpif.h and `use mpi` (mpi_bcast_ with the compilers' manglings), and
// `use mpi_f08` (ompi_bcast_f).
//
// Fortran's MPI_BOTTOM and MPI_IN_PLACE are addresses of common blocks in Open MPI's Fortran library. They are
// weak symbols here: a C program does not load that library, and the addresses are then null and differ from all
// buffers.
#include <mpi.h>

#ifdef OPEN_MPI

#include "collectives.hpp"
#include "communicator.hpp"

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

namespace {

void* buffer(void* address) {
  if (is_mpi_fortran_in_place(address)) return MPI_IN_PLACE;
  return is_mpi_fortran_bottom(address) ? MPI_BOTTOM : address;
}

MPI_Datatype type(const MPI_Fint* handle) { return PMPI_Type_f2c(*handle); }
MPI_Op operation(const MPI_Fint* handle) { return PMPI_Op_f2c(*handle); }
MPI_Comm communicator(const MPI_Fint* handle) { return PMPI_Comm_f2c(*handle); }

}  // namespace

// Begins an entry, and gives it all the names of Fortran compilers, and Open MPI's own.
#define SCOPE_VISIBLE extern "C" __attribute__((visibility("default"))) void
#define SCOPE_ALSO(name, lower, parameters) \
  SCOPE_VISIBLE name parameters __attribute__((alias("mpi_" #lower "_")));
#define SCOPE_FORTRAN(lower, upper, parameters)   \
  SCOPE_ALSO(mpi_##lower, lower, parameters)      \
  SCOPE_ALSO(mpi_##lower##__, lower, parameters)  \
  SCOPE_ALSO(MPI_##upper, lower, parameters)      \
  SCOPE_ALSO(ompi_##lower##_f, lower, parameters) \
  SCOPE_VISIBLE mpi_##lower##_ parameters

// Without several hosts, calls the MPI library's own routine, as in C.
#define SCOPE_CALL(ours, theirs, ...)                                                          \
  const int code = scope::collectives_active ? scope::ours(__VA_ARGS__) : theirs(__VA_ARGS__); \
  if (error) *error = code

SCOPE_FORTRAN(init, INIT, (MPI_Fint * error)) {
  const int code = PMPI_Init(nullptr, nullptr);
  if (code == MPI_SUCCESS) scope::begin_collectives();
  if (error) *error = code;
}

SCOPE_FORTRAN(init_thread, INIT_THREAD, (MPI_Fint * required, MPI_Fint* provided, MPI_Fint* error)) {
  int got = 0;
  const int code = PMPI_Init_thread(nullptr, nullptr, *required, &got);
  *provided = got;
  if (code == MPI_SUCCESS) scope::begin_collectives();
  if (error) *error = code;
}

SCOPE_FORTRAN(finalize, FINALIZE, (MPI_Fint * error)) {
  scope::end_collectives();
  const int code = PMPI_Finalize();
  if (error) *error = code;
}

SCOPE_FORTRAN(bcast, BCAST,
              (void* data, MPI_Fint* count, MPI_Fint* datatype, MPI_Fint* root, MPI_Fint* comm, MPI_Fint* error)) {
  SCOPE_CALL(broadcast, PMPI_Bcast, buffer(data), *count, type(datatype), *root, communicator(comm));
}

SCOPE_FORTRAN(reduce, REDUCE,
              (void* send, void* receive, MPI_Fint* count, MPI_Fint* datatype, MPI_Fint* op, MPI_Fint* root,
               MPI_Fint* comm, MPI_Fint* error)) {
  SCOPE_CALL(reduce, PMPI_Reduce, buffer(send), buffer(receive), *count, type(datatype), operation(op), *root,
             communicator(comm));
}

SCOPE_FORTRAN(allreduce, ALLREDUCE,
              (void* send, void* receive, MPI_Fint* count, MPI_Fint* datatype, MPI_Fint* op, MPI_Fint* comm,
               MPI_Fint* error)) {
  SCOPE_CALL(allreduce, PMPI_Allreduce, buffer(send), buffer(receive), *count, type(datatype), operation(op),
             communicator(comm));
}

SCOPE_FORTRAN(barrier, BARRIER, (MPI_Fint * comm, MPI_Fint* error)) {
  SCOPE_CALL(barrier, PMPI_Barrier, communicator(comm));
}

#define SCOPE_TWO_SIDES                                                                          \
  void *send, MPI_Fint *send_count, MPI_Fint *send_type, void *receive, MPI_Fint *receive_count, \
      MPI_Fint *receive_type
#define SCOPE_BOTH buffer(send), *send_count, type(send_type), buffer(receive), *receive_count, type(receive_type)

SCOPE_FORTRAN(gather, GATHER, (SCOPE_TWO_SIDES, MPI_Fint* root, MPI_Fint* comm, MPI_Fint* error)) {
  SCOPE_CALL(gather, PMPI_Gather, SCOPE_BOTH, *root, communicator(comm));
}

SCOPE_FORTRAN(scatter, SCATTER, (SCOPE_TWO_SIDES, MPI_Fint* root, MPI_Fint* comm, MPI_Fint* error)) {
  SCOPE_CALL(scatter, PMPI_Scatter, SCOPE_BOTH, *root, communicator(comm));
}

SCOPE_FORTRAN(allgather, ALLGATHER, (SCOPE_TWO_SIDES, MPI_Fint* comm, MPI_Fint* error)) {
  SCOPE_CALL(allgather, PMPI_Allgather, SCOPE_BOTH, communicator(comm));
}

SCOPE_FORTRAN(alltoall, ALLTOALL, (SCOPE_TWO_SIDES, MPI_Fint* comm, MPI_Fint* error)) {
  SCOPE_CALL(alltoall, PMPI_Alltoall, SCOPE_BOTH, communicator(comm));
}

#endif
