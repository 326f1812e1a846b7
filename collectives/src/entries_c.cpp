// The C entries of MPI that this library intercepts. Without several hosts they cost one branch before the
// library's own.
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

SCOPE_ENTRY MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  if (!collectives_active) [[likely]]
    return PMPI_Bcast(buffer, count, type, root, comm);
  return scope::broadcast(buffer, count, type, root, comm);
}

SCOPE_ENTRY MPI_Reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root,
                       MPI_Comm comm) {
  if (!collectives_active) [[likely]]
    return PMPI_Reduce(send, receive, count, type, op, root, comm);
  return scope::reduce(send, receive, count, type, op, root, comm);
}

SCOPE_ENTRY MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm) {
  if (!collectives_active) [[likely]]
    return PMPI_Allreduce(send, receive, count, type, op, comm);
  return scope::allreduce(send, receive, count, type, op, comm);
}

SCOPE_ENTRY MPI_Barrier(MPI_Comm comm) {
  if (!collectives_active) [[likely]]
    return PMPI_Barrier(comm);
  return scope::barrier(comm);
}

SCOPE_ENTRY MPI_Gather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                       MPI_Datatype receive_type, int root, MPI_Comm comm) {
  if (!collectives_active) [[likely]]
    return PMPI_Gather(send, send_count, send_type, receive, receive_count, receive_type, root, comm);
  return scope::gather(send, send_count, send_type, receive, receive_count, receive_type, root, comm);
}

SCOPE_ENTRY MPI_Scatter(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                        MPI_Datatype receive_type, int root, MPI_Comm comm) {
  if (!collectives_active) [[likely]]
    return PMPI_Scatter(send, send_count, send_type, receive, receive_count, receive_type, root, comm);
  return scope::scatter(send, send_count, send_type, receive, receive_count, receive_type, root, comm);
}

SCOPE_ENTRY MPI_Allgather(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                          int receive_count, MPI_Datatype receive_type, MPI_Comm comm) {
  if (!collectives_active) [[likely]]
    return PMPI_Allgather(send, send_count, send_type, receive, receive_count, receive_type, comm);
  return scope::allgather(send, send_count, send_type, receive, receive_count, receive_type, comm);
}

SCOPE_ENTRY MPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                         int receive_count, MPI_Datatype receive_type, MPI_Comm comm) {
  if (!collectives_active) [[likely]]
    return PMPI_Alltoall(send, send_count, send_type, receive, receive_count, receive_type, comm);
  return scope::alltoall(send, send_count, send_type, receive, receive_count, receive_type, comm);
}
