// Equal naps and a reduction, so many times; the argument names what is wrong with it: late, kernel, small,
// sender.
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <vector>

namespace {

constexpr int kRounds = 30;
constexpr int kNapUs = 5000;

// Takes memory, touches it, gives it back: every page is a fault.
void churn() {
  constexpr std::size_t bytes = 16 << 20;
  auto* memory =
      static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) return;
  for (std::size_t i = 0; i < bytes; i += 4096) memory[i] = 1;
  munmap(memory, bytes);
}

// From the first rank to all others, which wait for each.
void many_small_messages(int rank, int ranks) {
  std::vector<char> message(1024);
  for (int i = 0; i < 50; ++i) {
    if (rank == 0) usleep(100);
    for (int other = 1; other < ranks; ++other) {
      if (rank == 0) MPI_Send(message.data(), 1024, MPI_CHAR, other, 1, MPI_COMM_WORLD);
      if (rank == other) MPI_Recv(message.data(), 1024, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::string fault = argc > 1 ? argv[1] : "nothing";
  double sum = rank;
  for (int round = 0; round < kRounds; ++round) {
    if (fault == "kernel") {
      churn();
    } else if (fault == "small") {
      many_small_messages(rank, ranks);
      continue;
    } else {
      usleep(kNapUs);
    }
    if (fault == "late" && rank == 1) usleep(2 * kNapUs);
    if (fault == "sender") {
      if (rank == 0) usleep(2 * kNapUs);
      if (rank == 0) MPI_Send(&sum, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
      if (rank == 1) MPI_Recv(&sum, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
