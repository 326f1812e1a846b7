// Messages around a ring, then a reduction, so many times that every count is known; rank 0 comes last to it.
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* end = argc > 1 ? argv[1] : "0";
  std::vector<char> out(4096);
  std::vector<char> in(4096);
  std::vector<double> sum(128, rank);
  for (int round = 0; round < 20; ++round) {
    MPI_Request requests[2];
    MPI_Irecv(in.data(), 4096, MPI_CHAR, (rank + ranks - 1) % ranks, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out.data(), 4096, MPI_CHAR, (rank + 1) % ranks, 5, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (rank == 0) usleep(5000);
    MPI_Allreduce(MPI_IN_PLACE, sum.data(), 128, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (round == 10 && rank == 1 && std::strcmp(end, "killed") == 0) std::raise(SIGKILL);
    if (round == 10 && rank == 1 && std::strcmp(end, "aborted") == 0) MPI_Abort(MPI_COMM_WORLD, 17);
  }
  char word[64] = "nothing";
  if (rank == 0 && std::scanf("%63s", word) == 1) std::printf("read %s\n", word);
  MPI_Finalize();
  return 0;
}
