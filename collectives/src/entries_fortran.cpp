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

// Without several hosts, calls the MPI library's own routine, as in C.
#define SCOPE_CALL(ours, theirs, ...)                                                          \
  const int code = scope::collectives_active ? scope::ours(__VA_ARGS__) : theirs(__VA_ARGS__); \
  if (error) *error = code

void init(MPI_Fint* error) {
  const int code = PMPI_Init(nullptr, nullptr);
  if (code == MPI_SUCCESS) scope::begin_collectives();
  if (error) *error = code;
}

void init_thread(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* error) {
  int got = 0;
  const int code = PMPI_Init_thread(nullptr, nullptr, *required, &got);
  *provided = got;
  if (code == MPI_SUCCESS) scope::begin_collectives();
  if (error) *error = code;
}

void finalize(MPI_Fint* error) {
  scope::end_collectives();
  const int code = PMPI_Finalize();
  if (error) *error = code;
}

void bcast(void* data, MPI_Fint* count, MPI_Fint* datatype, MPI_Fint* root, MPI_Fint* comm, MPI_Fint* error) {
  SCOPE_CALL(broadcast, PMPI_Bcast, buffer(data), *count, type(datatype), *root, communicator(comm));
}

void reduce(void* send, void* receive, MPI_Fint* count, MPI_Fint* datatype, MPI_Fint* op, MPI_Fint* root,
            MPI_Fint* comm, MPI_Fint* error) {
  SCOPE_CALL(reduce, PMPI_Reduce, buffer(send), buffer(receive), *count, type(datatype), operation(op), *root,
             communicator(comm));
}

void allreduce(void* send, void* receive, MPI_Fint* count, MPI_Fint* datatype, MPI_Fint* op, MPI_Fint* comm,
               MPI_Fint* error) {
  SCOPE_CALL(allreduce, PMPI_Allreduce, buffer(send), buffer(receive), *count, type(datatype), operation(op),
             communicator(comm));
}

void barrier(MPI_Fint* comm, MPI_Fint* error) { SCOPE_CALL(barrier, PMPI_Barrier, communicator(comm)); }

#define SCOPE_TWO_SIDES                                                                          \
  void *send, MPI_Fint *send_count, MPI_Fint *send_type, void *receive, MPI_Fint *receive_count, \
      MPI_Fint *receive_type
#define SCOPE_BOTH buffer(send), *send_count, type(send_type), buffer(receive), *receive_count, type(receive_type)

void gather(SCOPE_TWO_SIDES, MPI_Fint* root, MPI_Fint* comm, MPI_Fint* error) {
  SCOPE_CALL(gather, PMPI_Gather, SCOPE_BOTH, *root, communicator(comm));
}

void scatter(SCOPE_TWO_SIDES, MPI_Fint* root, MPI_Fint* comm, MPI_Fint* error) {
  SCOPE_CALL(scatter, PMPI_Scatter, SCOPE_BOTH, *root, communicator(comm));
}

void allgather(SCOPE_TWO_SIDES, MPI_Fint* comm, MPI_Fint* error) {
  SCOPE_CALL(allgather, PMPI_Allgather, SCOPE_BOTH, communicator(comm));
}

void alltoall(SCOPE_TWO_SIDES, MPI_Fint* comm, MPI_Fint* error) {
  SCOPE_CALL(alltoall, PMPI_Alltoall, SCOPE_BOTH, communicator(comm));
}

}  // namespace

// One function under all the names of Fortran compilers, and under Open MPI's own.
#define SCOPE_FORTRAN(name, lower, upper, parameters, arguments)                              \
  extern "C" {                                                                                \
  __attribute__((visibility("default"))) void mpi_##lower parameters { name arguments; }      \
  __attribute__((visibility("default"))) void mpi_##lower##_ parameters { name arguments; }   \
  __attribute__((visibility("default"))) void mpi_##lower##__ parameters { name arguments; }  \
  __attribute__((visibility("default"))) void MPI_##upper parameters { name arguments; }      \
  __attribute__((visibility("default"))) void ompi_##lower##_f parameters { name arguments; } \
  }

#define F MPI_Fint*
SCOPE_FORTRAN(init, init, INIT, (F error), (error))
SCOPE_FORTRAN(init_thread, init_thread, INIT_THREAD, (F required, F provided, F error),
              (required, provided, error))
SCOPE_FORTRAN(finalize, finalize, FINALIZE, (F error), (error))
SCOPE_FORTRAN(bcast, bcast, BCAST, (void* data, F count, F type, F root, F comm, F error),
              (data, count, type, root, comm, error))
SCOPE_FORTRAN(reduce, reduce, REDUCE, (void* send, void* receive, F count, F type, F op, F root, F comm, F error),
              (send, receive, count, type, op, root, comm, error))
SCOPE_FORTRAN(allreduce, allreduce, ALLREDUCE, (void* send, void* receive, F count, F type, F op, F comm, F error),
              (send, receive, count, type, op, comm, error))
SCOPE_FORTRAN(barrier, barrier, BARRIER, (F comm, F error), (comm, error))
SCOPE_FORTRAN(gather, gather, GATHER,
              (void* send, F send_count, F send_type, void* receive, F receive_count, F receive_type, F root,
               F comm, F error),
              (send, send_count, send_type, receive, receive_count, receive_type, root, comm, error))
SCOPE_FORTRAN(scatter, scatter, SCATTER,
              (void* send, F send_count, F send_type, void* receive, F receive_count, F receive_type, F root,
               F comm, F error),
              (send, send_count, send_type, receive, receive_count, receive_type, root, comm, error))
SCOPE_FORTRAN(allgather, allgather, ALLGATHER,
              (void* send, F send_count, F send_type, void* receive, F receive_count, F receive_type, F comm,
               F error),
              (send, send_count, send_type, receive, receive_count, receive_type, comm, error))
SCOPE_FORTRAN(alltoall, alltoall, ALLTOALL,
              (void* send, F send_count, F send_type, void* receive, F receive_count, F receive_type, F comm,
               F error),
              (send, send_count, send_type, receive, receive_count, receive_type, comm, error))
#undef F

#endif
