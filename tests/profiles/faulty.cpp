// Equal naps and a reduction, so many times; the argument names what is wrong with it: late, kernel, small,
// sender; or, in files of the folder named next: pieces, opens, alone, unaligned (files: nothing).
#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <vector>

namespace {

constexpr int kRounds = 30;
constexpr double kLongEnoughS = 0.1;  // of a shorter program no share of time is judged
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

// From the first rank to all others. By tens, so that many small messages arrive even where another program has the
// processor of the sender most of the time.
void many_small_messages(int rank, int ranks) {
  std::vector<char> message(1024);
  for (int i = 0; i < 50; ++i) {
    if (rank == 0) usleep(100);
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
  if (fault == "files" && round % 10 == 0) put(1 << 18, 0);
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
  const std::string folder = argc > 2 ? argv[2] : "";
  const double begin_s = MPI_Wtime();
  double elapsed_s = 0;
  for (int round = 0; round < kRounds || elapsed_s < kLongEnoughS; ++round) {
    if (fault == "kernel") {
      churn();
    } else if (fault == "small") {
      many_small_messages(rank, ranks);
    } else if (folder.empty() || fault == "files") {
      usleep(kNapUs);
    }
    if (!folder.empty()) use_files(fault, folder, rank, round);
    if (fault == "late" && rank == 1) usleep(2 * kNapUs);
    if (fault == "sender") {
      if (rank == 0) usleep(2 * kNapUs);
      if (rank == 0) MPI_Send(&elapsed_s, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
      if (rank == 1) MPI_Recv(&elapsed_s, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    elapsed_s = MPI_Wtime() - begin_s;
    MPI_Allreduce(MPI_IN_PLACE, &elapsed_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
