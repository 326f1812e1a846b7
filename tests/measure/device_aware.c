/* An MPI library that takes memory of devices, preloaded: it says so, and the memory of the fake CUDA driver is the
   host's. DEVICE_AWARE: `yes`, `no`, or `lost`: it says so, and of each message of more than 64 bytes that a blocking
   call sends the last byte arrives as another. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { shortest_lost = 64 };

int MPIX_Query_cuda_support(void) { return strcmp(getenv("DEVICE_AWARE"), "no") != 0; }

int MPI_Send(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  const char* said = getenv("DEVICE_AWARE");
  if (type != MPI_BYTE || count <= shortest_lost || strcmp(said, "lost") != 0)
    return PMPI_Send(from, count, type, to, tag, comm);
  char* changed = memcpy(malloc(count), from, count);
  changed[count - 1] ^= 1;
  const int status = PMPI_Send(changed, count, type, to, tag, comm);
  free(changed);
  return status;
}
