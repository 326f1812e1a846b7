/* The loop that everybody writes: what Scope's figures must agree with.
 *
 * usage: mpiexec -n 2 plain_ping_pong latency|bandwidth BYTES ITERATIONS LOOPS
 * Prints one line per loop: seconds per one-way message (latency) or per window of 64 messages (bandwidth).
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64 };

static void ping_pong(char *buffer, int bytes, int rank) {
  if (rank == 0) {
    MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
}

static void window(char *buffer, int bytes, int rank) {
  MPI_Request requests[WINDOW];
  for (int i = 0; i < WINDOW; ++i) {
    if (rank == 0)
      MPI_Isend(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]);
    else
      MPI_Irecv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
  if (rank == 0)
    MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 5) {
    if (rank == 0) fprintf(stderr, "usage: plain_ping_pong latency|bandwidth BYTES ITERATIONS LOOPS\n");
    MPI_Finalize();
    return 2;
  }
  const int latency = strcmp(argv[1], "latency") == 0;
  const int bytes = atoi(argv[2]);
  const int iterations = atoi(argv[3]);
  const int loops = atoi(argv[4]);
  char *buffer;
  if (posix_memalign((void **)&buffer, 4096, bytes + 1) != 0) return 1;
  memset(buffer, rank, bytes + 1);

  double *elapsed = malloc(loops * sizeof *elapsed);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int loop = -3; loop < loops; ++loop) { /* three loops warm up */
    const double start = MPI_Wtime();
    for (int i = 0; i < iterations; ++i) {
      if (latency)
        ping_pong(buffer, bytes, rank);
      else
        window(buffer, bytes, rank);
    }
    if (loop >= 0) elapsed[loop] = MPI_Wtime() - start;
  }
  for (int loop = 0; rank == 0 && loop < loops; ++loop)
    printf("%.9e\n", elapsed[loop] / iterations / (latency ? 2 : 1));
  free(elapsed);
  free(buffer);
  MPI_Finalize();
  return 0;
}
