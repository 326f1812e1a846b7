// The C entries of MPI that this library intercepts. Without several hosts, they cost one branch before the MPI
// library's own entry.
#include "collectives.hpp"
#include "communicator.hpp"

#define SCOPE_ENTRY extern "C" __attribute__((visibility("default"))) int

using scope::collectives_active;

SCOPE_ENTRY MPI_Init(int* count, char*** words) {
  const int code = PMPI_Init(count, words);
  if (code == MPI_SUCCESS) scope::begin_collectives();
  return code;
}

SCOPE_ENTRY MPI_Init_thread(int* count, char*** words, int required, int* provided) {
  const int code = PMPI_Init_thread(count, words, required, provided);
  if (code == MPI_SUCCESS) scope::begin_collectives();
  return code;
}

SCOPE_ENTRY MPI_Finalize() {
  scope::end_collectives();
  return PMPI_Finalize();
}

#define SCOPE_COLLECTIVE(Name, ours, parameters, ...) \
  SCOPE_ENTRY MPI_##Name parameters {                 \
    if (!collectives_active) [[likely]]               \
      return PMPI_##Name(__VA_ARGS__);                \
    return scope::ours(__VA_ARGS__);                  \
  }
SCOPE_COLLECTIVE(Bcast, broadcast, (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm), buffer,
                 count, type, root, comm)
SCOPE_COLLECTIVE(Reduce, reduce,
                 (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root,
                  MPI_Comm comm),
                 send, receive, count, type, op, root, comm)
SCOPE_COLLECTIVE(Allreduce, allreduce,
                 (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), send,
                 receive, count, type, op, comm)
SCOPE_COLLECTIVE(Barrier, barrier, (MPI_Comm comm), comm)

#define SCOPE_BLOCK_PARAMETERS                                                                \
  const void *send, int send_count, MPI_Datatype send_type, void *receive, int receive_count, \
      MPI_Datatype receive_type
#define SCOPE_BLOCKS send, send_count, send_type, receive, receive_count, receive_type
SCOPE_COLLECTIVE(Gather, gather, (SCOPE_BLOCK_PARAMETERS, int root, MPI_Comm comm), SCOPE_BLOCKS, root, comm)
SCOPE_COLLECTIVE(Scatter, scatter, (SCOPE_BLOCK_PARAMETERS, int root, MPI_Comm comm), SCOPE_BLOCKS, root, comm)
SCOPE_COLLECTIVE(Allgather, allgather, (SCOPE_BLOCK_PARAMETERS, MPI_Comm comm), SCOPE_BLOCKS, comm)
SCOPE_COLLECTIVE(Alltoall, alltoall, (SCOPE_BLOCK_PARAMETERS, MPI_Comm comm), SCOPE_BLOCKS, comm)
