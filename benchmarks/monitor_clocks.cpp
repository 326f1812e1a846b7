// The least that an interposer can do: it reads the register clock before and after MPI's own routine, and
// adds up what lies between. What the monitor costs is held against this.
#include <mpi.h>
#include <x86intrin.h>

static unsigned long long total;

#define TIMED(name, parameters, arguments)      \
  extern "C" int MPI_##name parameters {        \
    const unsigned long long begin = __rdtsc(); \
    const int code = PMPI_##name arguments;     \
    total += __rdtsc() - begin;                 \
    return code;                                \
  }

TIMED(Comm_size, (MPI_Comm comm, int* size), (comm, size))
TIMED(Iprobe, (int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status),
      (source, tag, comm, flag, status))
TIMED(Irecv,
      (void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request),
      (buffer, count, type, source, tag, comm, request))
TIMED(Isend,
      (const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request),
      (buffer, count, type, dest, tag, comm, request))
TIMED(Send, (const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm),
      (buffer, count, type, dest, tag, comm))
TIMED(Wait, (MPI_Request * request, MPI_Status* status), (request, status))
TIMED(Waitall, (int count, MPI_Request* requests, MPI_Status* statuses), (count, requests, statuses))
TIMED(Allreduce, (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
      (send, receive, count, type, op, comm))
