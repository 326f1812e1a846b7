// Works for some seconds on two ranks or more; rank 1 leaks so many bytes per second meanwhile.
//
// What every rank holds from the begin is no leak: a soak must tell the two apart.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  const double bytes_per_s = std::atof(argv[1]), seconds = std::atof(argv[2]);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<char> held(20'000'000, 1);
  const double begin = MPI_Wtime();
  std::size_t leaked = 0;
  double passed = 0, latest = 0;
  do {
    usleep(500);
    passed = MPI_Wtime() - begin;
    const auto due = std::size_t(bytes_per_s * passed);
    if (rank == 1 && due > leaked + 4096) {
      if (void* lost = std::malloc(due - leaked)) std::memset(lost, 1, due - leaked);
      leaked = due;
    }
    MPI_Allreduce(&passed, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  } while (latest < seconds);
  if (rank == 0) std::printf("held %d, done\n", held[held.size() / 2]);
  MPI_Finalize();
  return 0;
}
