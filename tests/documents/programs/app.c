/* The program of the pages: rank 0 computes longest, so that all others wait for it; then neighbors exchange data. */
#include <mpi.h>
#include <stdio.h>

static double compute(long steps) {
  double sum = 0;
  for (long step = 1; step <= steps; ++step) sum += 1 / (double)step;
  return sum;
}

static void exchange(int to, int from) {
  static char sent[4096], received[4096];
  MPI_Request requests[2];
  MPI_Irecv(received, sizeof received, MPI_BYTE, from, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(sent, sizeof sent, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double sum = 0;
  for (int step = 0; step < 30; ++step) {
    const double own = compute(rank == 0 ? 4000000 : 500000);
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    exchange((rank + 1) % ranks, (rank + ranks - 1) % ranks);
  }
  if (rank == 0) printf("converged: %g\n", sum);
  MPI_Finalize();
  return 0;
}
