// Equal naps and a reduction. Arguments: what is wrong with it (late, kernel, small, sender; or in files: pieces,
// opens, alone, unaligned; files: nothing), the number of rounds, and the folder of the files.
#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

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

// From the first rank to all others.
void many_small_messages(int rank, int ranks) {
  std::vector<char> message(1024);
  for (int i = 0; i < 50; ++i) {
    for (int other = 1; other < ranks; ++other) {
      for (int number = 0; number < 10; ++number) {
        if (rank == 0) MPI_Send(message.data(), 1024, MPI_CHAR, other, 1, MPI_COMM_WORLD);
        if (rank == other) MPI_Recv(message.data(), 1024, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
  }
}

// The file of a process stays as long as it is after the first round: a test fills no disk.
void use_files(const std::string& fault, const std::string& folder, int rank, int round) {
  static const std::vector<char> data(1 << 20);
  const std::string path = folder + "/data" + std::to_string(rank);
  static const int file = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  const auto put = [&](std::size_t bytes, long at) {
    if (pwrite(file, data.data(), bytes, at) != static_cast<ssize_t>(bytes)) MPI_Abort(MPI_COMM_WORLD, 1);
  };
  if (fault == "files" && round == 0) put(1 << 18, 0);
  if (fault == "pieces")
    for (int i = 0; i < 5000; ++i) put(16, 16 * i);
  if (fault == "opens")
    for (int i = 0; i < 300; ++i) close(open(path.c_str(), O_RDONLY));
  if (fault == "alone" && rank == 0)
    for (int i = 0; i < 16; ++i) put(1 << 20, (1 << 20) * i);
  if (fault == "unaligned")
    for (int i = 0; i < 64; ++i) put(1 << 16, (1 << 16) * i + 100);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::string fault = argc > 1 ? argv[1] : "nothing";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 1;
  const std::string folder = argc > 3 ? argv[3] : "";
  double any = 0;
  for (int round = 0; round < rounds; ++round) {
    if (fault == "kernel")
      churn();
    else if (fault == "small")
      many_small_messages(rank, ranks);
    else if (folder.empty() || fault == "files")
      usleep(kNapUs);
    if (!folder.empty()) use_files(fault, folder, rank, round);
    if (fault == "late" && rank == 1) usleep(2 * kNapUs);
    if (fault == "sender") {
      if (rank == 0) usleep(2 * kNapUs);
      if (rank == 0) MPI_Send(&any, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
      if (rank == 1) MPI_Recv(&any, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
