// Files of the operating system: complete transfers, and the part of a file in the page cache.
#pragma once

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace scope {

// Unit of blocks, addresses and offsets that O_DIRECT accepts on any disk.
constexpr std::int64_t direct_unit = 4096;

// A description of the last system call's error.
inline std::string last_error() { return std::strerror(errno); }

// Repeats `call(done)`, which transfers the rest after `done` bytes, until all bytes are transferred.
template <class Call>
std::string whole(std::int64_t bytes, Call&& call) {
  for (std::int64_t done = 0; done < bytes;) {
    const ssize_t moved = call(done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return last_error();
    if (moved == 0) return "the file is too short";
    done += moved;
  }
  return "";
}

// An open file; closed with its owner.
class File {
 public:
  File() = default;
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() { close(); }
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  // Returns false, with errno, if the system reports a deferred error.
  bool close() { return descriptor_ < 0 || ::close(std::exchange(descriptor_, -1)) == 0; }

  // Transfer all bytes, in as many calls as the system needs. Return the problem, or an empty text.
  std::string write(const std::byte* data, std::int64_t bytes, std::int64_t offset) const {
    return whole(bytes,
                 [&](std::int64_t done) { return pwrite(descriptor_, data + done, bytes - done, offset + done); });
  }
  std::string read(std::byte* data, std::int64_t bytes, std::int64_t offset) const {
    return whole(bytes,
                 [&](std::int64_t done) { return pread(descriptor_, data + done, bytes - done, offset + done); });
  }

  // Whether the file is on tmpfs or ramfs.
  bool in_memory() const {
    struct statfs facts{};
    return fstatfs(descriptor_, &facts) == 0 &&
           (facts.f_type == TMPFS_MAGIC || facts.f_type == static_cast<long>(RAMFS_MAGIC));
  }
  // Uses O_DIRECT from now on; returns false, with errno, if that is refused.
  bool bypass_cache() const { return fcntl(descriptor_, F_SETFL, fcntl(descriptor_, F_GETFL) | O_DIRECT) == 0; }
  // Asks the system to evict all pages that are not dirty.
  void leave_cache() const { posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED); }
  // The fraction of the file's pages in memory; 1 if the system does not report it.
  double resident_share(std::int64_t bytes) const {
    if (bytes <= 0) return 0;
    void* pages = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor_, 0);
    // Files that bypass the page cache cannot be mapped (FUSE with direct_io).
    if (pages == MAP_FAILED) return errno == ENODEV ? 0 : 1;
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
  int descriptor_ = -1;
};

}  // namespace scope
