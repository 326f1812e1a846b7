// node.disk: bandwidth of writing, overwriting, rewriting and reading a file on the host's scratch file system.
//
// Timed: one pass over a file in blocks, from the first call until the data are where `cache` requires them, on
// every rank at the same time, each with its own file and clock; the slowest rank counts. Without precautions,
// a file that fits into the page cache would be written to memory and read from it.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "benchmark.hpp"
#include "files/file.hpp"

namespace scope::disk {
namespace {

// If more than this fraction of a file stays in memory despite eviction, it is read from memory.
constexpr double tolerated_resident = 0.05;

std::string scratch_directory() {
  const char* folder = std::getenv("SCOPE_SCRATCH");
  if (folder != nullptr && *folder != '\0') return folder;
  return access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

// A file that no other process can open and that disappears when the process ends in any way.
File scratch_file(const std::string& folder) {
  std::string name = folder + "/scope-disk-XXXXXX";
  File file(mkostemp(name.data(), O_CLOEXEC));
  if (!file.is_open()) throw Unavailable(folder + ": cannot create a file: " + last_error());
  unlink(name.c_str());
  return file;
}

class Disk final : public Benchmark {
 public:
  Disk(const Parameters& parameters, const Communicator& communicator)
      : operation_(parameters.choice("operation")),
        cache_(parameters.choice("cache")),
        block_bytes_(parameters.integer("block_bytes")),
        blocks_(parameters.integer("file_bytes") / block_bytes_),
        ranks_(communicator.size()),
        rank_(communicator.rank()),
        folder_(scratch_directory()),
        file_(scratch_file(folder_)),
        written_(block_bytes_),
        read_(block_bytes_) {
    if (blocks_ < 1) throw Unavailable("file_bytes must be at least block_bytes");
    make_room();
    if (cache_ == "cached") return;
    if (file_.in_memory())
      throw Unavailable(folder_ + " is in memory (tmpfs); set SCOPE_SCRATCH to a directory on a disk");
    if (cache_ == "direct") {
      if (block_bytes_ % direct_unit != 0)
        throw Unavailable(sentence({"cache=direct: block_bytes must be a multiple of ", direct_unit, " B"}));
      if (!file_.bypass_cache())
        throw Unavailable(folder_ + ": this file system does not support O_DIRECT: " + last_error());
    }
    if (reads()) make_sure_that_the_cache_can_be_left();
  }

  Work work() const override { return {.bytes = static_cast<double>(bytes()) * ranks_}; }

  void fill(std::uint64_t seed) override {
    seed_ = seed * ranks_ + rank_;
    write_pattern(written_.bytes(), seed_);
    // The file must exist before it is read, and have different contents before it is overwritten.
    if (reads()) write_blocks(seed_);
    if (operation_ == "overwrite") write_blocks(~seed_);
    settle();
  }

  void run(Repetition& repetition) override {
    if (operation_ == "write" && ftruncate(file_.descriptor(), 0) != 0) complain("ftruncate");
    if (cache_ == "fsync") leave_cache();
    const double resident = operation_ == "write" ? 0 : file_.resident_share(bytes());
    repetition.time([&] {
      if (operation_ == "read") return read_blocks();
      if (operation_ == "rewrite")
        rewrite_blocks();
      else
        write_blocks(seed_);
      if (cache_ == "fsync" && fdatasync(file_.descriptor()) != 0) complain("fdatasync");
    });
    repetition.observe("resident_share", resident);
  }

  // Reads the whole file back, for all operations, and compares every byte.
  Check verify(std::uint64_t) override {
    if (problem_.empty() && operation_ == "read" && !holds(read_, blocks_ - 1))
      problem_ = "the last block that was read holds wrong data";
    for (std::int64_t block = 0; block < blocks_ && problem_.empty(); ++block) {
      if (!read(block)) break;
      if (!holds(read_, block)) problem_ = sentence({"block ", block, " of the file holds wrong data"});
    }
    return {bytes(), problem_};
  }

  // An injected fault corrupts the block that was read last, or the block to be compared with the file.
  std::span<std::byte> received() override { return operation_ == "read" ? read_.bytes() : written_.bytes(); }

  bool loops() const override { return false; }
  bool prepares() const override { return true; }

 private:
  using Stamp = std::array<std::uint64_t, 2>;

  std::int64_t bytes() const { return blocks_ * block_bytes_; }
  bool reads() const { return operation_ == "read" || operation_ == "rewrite"; }

  void make_room() {
    const int error = posix_fallocate(file_.descriptor(), 0, bytes());
    if (error != 0)
      throw Unavailable(sentence({folder_, ": cannot allocate ", bytes(), " B: ", std::strerror(error)}));
  }

  void make_sure_that_the_cache_can_be_left() {
    write_blocks(0);
    settle();
    const double resident = leave_cache();
    if (!problem_.empty()) throw Unavailable(problem_);
    if (resident > tolerated_resident) {
      throw Unavailable(
          sentence({folder_, ": this file system keeps the file in memory despite eviction (",
                    static_cast<int>(100 * resident), " % of its pages), so it cannot be read from a disk"}));
    }
  }

  void settle() {
    if (fdatasync(file_.descriptor()) != 0) complain("fdatasync");
  }

  // Asks the system to evict the file's pages; returns the fraction that stays.
  double leave_cache() {
    file_.leave_cache();
    return file_.resident_share(bytes());
  }

  void write_blocks(std::uint64_t seed) {
    for (std::int64_t block = 0; block < blocks_; ++block) {
      stamp(written_, seed, block);
      if (!moved(file_.write(written_.data(), block_bytes_, block * block_bytes_))) return;
    }
  }

  void read_blocks() {
    for (std::int64_t block = 0; block < blocks_; ++block) {
      if (!read(block)) return;
      if (!stamped(read_, seed_, block)) problem_ = sentence({"block ", block, " was read from another position"});
    }
  }

  // Each block is read, changed and written back to its position before the next one is read.
  void rewrite_blocks() {
    const std::uint64_t before = seed_++;
    for (std::int64_t block = 0; block < blocks_; ++block) {
      if (!read(block)) return;
      if (!stamped(read_, before, block))
        problem_ = sentence({"block ", block, " was read from another position"});
      stamp(read_, seed_, block);
      if (!moved(file_.write(read_.data(), block_bytes_, block * block_bytes_))) return;
    }
  }

  bool read(std::int64_t block) { return moved(file_.read(read_.data(), block_bytes_, block * block_bytes_)); }

  // Returns whether a transfer succeeded; records its problem.
  bool moved(const std::string& problem) {
    if (!problem.empty() && problem_.empty()) problem_ = folder_ + ": " + problem;
    return problem.empty();
  }

  // Each block begins with its number, so that no two are equal and none can be mistaken for another.
  void stamp(Buffer& buffer, std::uint64_t seed, std::int64_t block) const {
    const Stamp value = {seed, static_cast<std::uint64_t>(block)};
    std::memcpy(buffer.data(), value.data(), stamp_bytes());
  }
  bool stamped(Buffer& buffer, std::uint64_t seed, std::int64_t block) const {
    const Stamp value = {seed, static_cast<std::uint64_t>(block)};
    return std::memcmp(buffer.data(), value.data(), stamp_bytes()) == 0;
  }
  std::size_t stamp_bytes() const { return std::min(sizeof(Stamp), static_cast<std::size_t>(block_bytes_)); }

  bool holds(Buffer& buffer, std::int64_t block) {
    return stamped(buffer, seed_, block) &&
           std::memcmp(buffer.data() + stamp_bytes(), written_.data() + stamp_bytes(),
                       block_bytes_ - stamp_bytes()) == 0;
  }

  void complain(const std::string& what) { moved(what + ": " + last_error()); }

  std::string operation_;
  std::string cache_;
  std::int64_t block_bytes_;
  std::int64_t blocks_;
  int ranks_;
  int rank_;
  std::string folder_;
  File file_;
  Buffer written_;
  Buffer read_;
  std::uint64_t seed_ = 0;
  std::string problem_;
};

const Registration registration{{
    .name = "node.disk",
    .title = "local disk",
    .summary = "writing, overwriting, rewriting and reading a file on local scratch",
    .needs = {Requirement::file_system},
    .rungs = {{Pattern::file_write, "bandwidth_bytes_per_s", "operation=write cache=fsync block_bytes=*"},
              {Pattern::file_read, "bandwidth_bytes_per_s", "operation=read cache=fsync block_bytes=*"}},
    .parameters =
        {problem("operation", "write,overwrite,rewrite,read",
                 "write a new file; overwrite an existing file; read, change and write back each block of a "
                 "file; or read a file")
             .worded("write,overwrite,rewrite,read"),
         call("cache", "fsync,direct,cached",
              "flush the file and evict it from the page cache, bypass the cache (O_DIRECT), or use the cache")
             .worded(",direct,through the page cache"),
         size("file_bytes", "B", 32 << 20, 1, std::int64_t{1} << 44, "size of each rank's file"),
         call("block_bytes", "B", 1 << 20, 1, 1 << 30, "bytes that each call transfers")},
    .definition = Definition::max_rank,
    .metrics = {bytes_per_second(), seconds("time_s"),
                condition("resident_share", "1", Better::lower).labeled("fraction of the file in memory")},
    .sweeps = {{"baseline", "nodes=types ranks=1 operation=write,read cache=fsync"},
               {"standard",
                "nodes=types ranks=1 operation=write,rewrite,read cache=fsync,direct,cached block_bytes=64Ki,1Mi"},
               {"advanced",
                "nodes=types ranks=1,all operation=write,rewrite,read cache=fsync,direct file_bytes=1Gi "
                "block_bytes=4Ki,1Mi"}},
    .make = make<Disk>,
}};

}  // namespace
}  // namespace scope::disk
