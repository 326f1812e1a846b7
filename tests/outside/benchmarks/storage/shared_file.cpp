// storage.shared_file: one file that all ranks read at the same time, each its own part.
//
// Timed: one read of a rank's part, on every rank's own clock after a common start; the slowest rank counts. The file
// has just been written: where the file system keeps it in memory, memory is what is measured.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "benchmark.hpp"
#include "memory/buffer.hpp"

namespace scope {
namespace {

class SharedFile final : public Benchmark {
 public:
  SharedFile(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator), part_(parameters.integer("part_bytes")) {
    const char* folder = std::getenv("SCOPE_SCRATCH");
    std::string name = std::string(folder != nullptr ? folder : "/tmp") + "/scope-shared-XXXXXX";
    if (communicator.root()) file_ = mkstemp(name.data());
    name = communicator.all_gather(name).front();
    if (!communicator.root()) file_ = open(name.c_str(), O_RDWR);
    MPI_Barrier(communicator.handle());
    if (communicator.root()) unlink(name.c_str());
    if (file_ < 0) throw Unavailable(name + ": cannot be opened");
  }
  ~SharedFile() override { close(file_); }

  Work work() const override { return {.bytes = static_cast<double>(part_.size()) * communicator_.size()}; }

  void fill(std::uint64_t seed) override {
    write_pattern(part_.bytes(), seed + communicator_.rank());
    written_ = pwrite(file_, part_.data(), part_.size(), begin());
    part_.clear();
  }

  void run(Repetition& repetition) override {
    repetition.time([&] { read_ = pread(file_, part_.data(), part_.size(), begin()); });
  }

  Check verify(std::uint64_t seed) override {
    const auto whole = static_cast<ssize_t>(part_.size());
    if (written_ != whole || read_ != whole) return {1, "a part was not written or read as a whole"};
    return {whole, pattern_problem(part_.bytes(), seed + communicator_.rank())};
  }

  std::span<std::byte> received() override { return part_.bytes(); }

 private:
  off_t begin() const { return static_cast<off_t>(part_.size()) * communicator_.rank(); }

  const Communicator& communicator_;
  Buffer part_;
  int file_ = -1;
  ssize_t written_ = 0;
  ssize_t read_ = 0;
};

const Registration registration{{
    .name = "storage.shared_file",
    .title = "shared file",
    .summary = "one file that all ranks read at the same time, each its own part",
    .needs = {Requirement::file_system},
    .rungs = {{Pattern::memory, "bandwidth_bytes_per_s"}},
    .parameters = {size("part_bytes", "B", 1 << 20, 1, 1 << 30, "bytes that each rank reads")},
    .definition = Definition::max_rank,
    .metrics = {bytes_per_second(), seconds("time_s")},
    .sweeps = {{"standard", "ranks=powers part_bytes=64Ki,1Mi"}},
    .make = make<SharedFile>,
}};

}  // namespace
}  // namespace scope
