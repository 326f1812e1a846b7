// node.disk: bandwidth of writing, rewriting and reading a file on the host's own scratch.
//
// Timed: one pass over a file in blocks, from the first call until the data are where `cache` demands, on
// every rank at the same time, each with its own file and clock; the slowest rank counts. Without
// precautions, a file that fits into the page cache is written to memory and read from it.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "benchmark.hpp"
#include "memory/buffer.hpp"
#include "text/words.hpp"

namespace scope::disk {
namespace {

constexpr std::int64_t direct_unit = 4096;
// If more than this share of a file stays in memory despite eviction, it is read from memory.
constexpr double tolerated_resident = 0.05;

std::string scratch_directory() {
  const char* folder = std::getenv("SCOPE_SCRATCH");
  if (folder != nullptr && *folder != '\0') return folder;
  return access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

std::string last_error() {
  return std::strerror(errno);
}

// A file that no other process can open and that disappears when the process ends, however it does.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& folder) : folder_(folder) {
    std::string name = folder + "/scope-disk-XXXXXX";
    descriptor_ = mkstemp(name.data());
    if (descriptor_ < 0) throw Unavailable(folder + ": cannot create a file: " + last_error());
    unlink(name.c_str());
  }
  ~ScratchFile() { close(descriptor_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  int descriptor() const { return descriptor_; }
  const std::string& folder() const { return folder_; }

  bool in_memory() const {
    struct statfs facts{};
    return fstatfs(descriptor_, &facts) == 0 &&
           (facts.f_type == TMPFS_MAGIC || facts.f_type == static_cast<long>(RAMFS_MAGIC));
  }

  void bypass_cache() const {
    if (fcntl(descriptor_, F_SETFL, fcntl(descriptor_, F_GETFL) | O_DIRECT) != 0) {
      throw Unavailable(folder_ + ": this file system does not support O_DIRECT: " + last_error());
    }
  }

  // Share of the file's pages that are in memory; 1 where the system does not report it.
  double resident_share(std::int64_t bytes) const {
    void* pages = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor_, 0);
    if (pages == MAP_FAILED) return 1;
    const long page = sysconf(_SC_PAGESIZE);
    std::vector<unsigned char> resident((bytes + page - 1) / page);
    const bool known = mincore(pages, bytes, resident.data()) == 0;
    munmap(pages, bytes);
    if (!known) return 1;
    std::size_t count = 0;
    for (const unsigned char flags : resident) count += flags & 1;
    return static_cast<double>(count) / static_cast<double>(resident.size());
  }

 private:
  std::string folder_;
  int descriptor_;
};

class Disk final : public Benchmark {
 public:
  Disk(const Parameters& parameters, const Communicator& communicator)
      : operation_(parameters.choice("operation")),
        cache_(parameters.choice("cache")),
        block_bytes_(parameters.integer("block_bytes")),
        blocks_(parameters.integer("file_bytes") / block_bytes_),
        ranks_(communicator.size()),
        rank_(communicator.rank()),
        file_(scratch_directory()),
        written_(block_bytes_),
        read_(block_bytes_) {
    if (blocks_ < 1) throw Unavailable("file_bytes must be at least block_bytes");
    make_room();
    if (cache_ == "cached") return;
    if (file_.in_memory()) {
      throw Unavailable(file_.folder() + " is in memory (tmpfs); set SCOPE_SCRATCH to a folder on a disk");
    }
    if (cache_ == "direct") {
      if (block_bytes_ % direct_unit != 0) {
        throw Unavailable(sentence({"cache=direct: block_bytes must be a multiple of ", direct_unit, " B"}));
      }
      file_.bypass_cache();
    }
    if (operation_ == "read") make_sure_that_the_cache_can_be_left();
  }

  Work work() const override { return {.bytes = static_cast<double>(bytes()) * ranks_}; }

  void fill(std::uint64_t seed) override {
    seed_ = seed * ranks_ + rank_;
    write_pattern(written_.bytes(), seed_);
    // The file must exist before it is read, and hold other contents before it is rewritten.
    if (operation_ == "read") write_blocks(seed_);
    if (operation_ == "rewrite") write_blocks(~seed_);
    settle();
  }

  void run(Repetition& repetition) override {
    if (operation_ == "write" && ftruncate(file_.descriptor(), 0) != 0) complain("ftruncate");
    if (cache_ == "fsync") leave_cache();
    const double resident = operation_ == "write" ? 0 : file_.resident_share(bytes());
    repetition.time([&] {
      if (operation_ == "read") {
        read_blocks();
      } else {
        write_blocks(seed_);
        if (cache_ == "fsync" && fdatasync(file_.descriptor()) != 0) complain("fdatasync");
      }
    });
    repetition.observe("resident_share", resident);
  }

  // Reads everything back, whichever operation wrote it, and compares every byte.
  Check verify(std::uint64_t) override {
    if (problem_.empty() && operation_ == "read" && !holds(read_, blocks_ - 1)) {
      problem_ = "the last block that was read holds wrong data";
    }
    for (std::int64_t block = 0; block < blocks_ && problem_.empty(); ++block) {
      if (!transfer(pread, read_, block)) break;
      if (!holds(read_, block)) problem_ = sentence({"block ", block, " of the file holds wrong data"});
    }
    return {bytes(), problem_};
  }

  // An injected fault corrupts the block that was read last, or the block to be compared with the file.
  std::span<std::byte> received() override { return operation_ == "read" ? read_.bytes() : written_.bytes(); }

  bool loops() const override { return false; }

 private:
  using Stamp = std::array<std::uint64_t, 2>;

  std::int64_t bytes() const { return blocks_ * block_bytes_; }

  void make_room() {
    const int error = posix_fallocate(file_.descriptor(), 0, bytes());
    if (error != 0) {
      throw Unavailable(sentence({file_.folder(), ": no space for ", bytes(), " B: ", std::strerror(error)}));
    }
  }

  void make_sure_that_the_cache_can_be_left() {
    write_blocks(0);
    settle();
    const double resident = leave_cache();
    if (!problem_.empty()) throw Unavailable(problem_);
    if (resident > tolerated_resident) {
      throw Unavailable(
          sentence({file_.folder(), ": this file system keeps the file in memory despite eviction (",
                    static_cast<int>(100 * resident), " % of its pages), so it cannot be read from a disk"}));
    }
  }

  void settle() {
    if (fdatasync(file_.descriptor()) != 0) complain("fdatasync");
  }

  // Asks the system to evict the file's pages; returns the share that stays.
  double leave_cache() {
    posix_fadvise(file_.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
    return bytes() > 0 ? file_.resident_share(bytes()) : 0;
  }

  void write_blocks(std::uint64_t seed) {
    for (std::int64_t block = 0; block < blocks_; ++block) {
      stamp(written_, seed, block);
      if (!transfer(pwrite, written_, block)) return;
    }
  }

  void read_blocks() {
    for (std::int64_t block = 0; block < blocks_; ++block) {
      if (!transfer(pread, read_, block)) return;
      if (!stamped(read_, seed_, block))
        problem_ = sentence({"block ", block, " was read from another position"});
    }
  }

  // A whole block, in as many calls as the system needs; false, with the problem noted, when that fails.
  template <class Call>
  bool transfer(Call call, Buffer& buffer, std::int64_t block) {
    for (std::int64_t done = 0; done < block_bytes_;) {
      const ssize_t moved =
          call(file_.descriptor(), buffer.data() + done, block_bytes_ - done, block * block_bytes_ + done);
      if (moved < 0 && errno == EINTR) continue;
      if (moved <= 0) {
        complain(moved == 0 ? "the file is too short" : "transfer");
        return false;
      }
      done += moved;
    }
    return true;
  }

  // Each block begins with its number, so that no two are alike and none passes for another.
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

  void complain(const std::string& what) {
    if (problem_.empty()) problem_ = file_.folder() + ": " + what + ": " + last_error();
  }

  std::string operation_;
  std::string cache_;
  std::int64_t block_bytes_;
  std::int64_t blocks_;
  int ranks_;
  int rank_;
  ScratchFile file_;
  Buffer written_;
  Buffer read_;
  std::uint64_t seed_ = 0;
  std::string problem_;
};

const Registration registration{{
    .name = "node.disk",
    .title = "local disk",
    .summary = "writing, rewriting and reading a file on local scratch",
    .needs = {Requirement::file_system},
    .parameters =
        {problem("operation", "write,rewrite,read", "operation on the file").worded("write,rewrite,read"),
         call("cache", "fsync,direct,cached",
              "flushed and evicted from the page cache, bypassing it (O_DIRECT), or left in it")
             .worded(",direct,through the page cache"),
         size("file_bytes", "B", 32 << 20, 1, std::int64_t{1} << 44, "size of each rank's file"),
         call("block_bytes", "B", 1 << 20, 1, 1 << 30, "bytes of each call")},
    .definition = Definition::max_rank,
    .metrics = {bytes_per_second(), seconds("time_s"),
                condition("resident_share", "1", Better::lower).labelled("share of the file in memory")},
    .sweeps =
        {{"baseline", "nodes=types ranks=1 operation=write,read cache=fsync"},
         {"standard",
          "nodes=types ranks=1 operation=write,rewrite,read cache=fsync,direct,cached block_bytes=64Ki,1Mi"},
         {"advanced",
          "nodes=types ranks=1,all operation=write,rewrite,read cache=fsync,direct file_bytes=1Gi "
          "block_bytes=4Ki,1Mi"}},
    .make = make<Disk>,
}};

}  // namespace
}  // namespace scope::disk
