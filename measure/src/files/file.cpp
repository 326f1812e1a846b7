#include "files/file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace scope {
namespace {

// `call(done)` moves what is left after `done` bytes.
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

}  // namespace

std::string last_error() { return std::strerror(errno); }

File::File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

bool File::close() { return descriptor_ < 0 || ::close(std::exchange(descriptor_, -1)) == 0; }

std::string File::write(const std::byte* data, std::int64_t bytes, std::int64_t offset) const {
  return whole(bytes,
               [&](std::int64_t done) { return pwrite(descriptor_, data + done, bytes - done, offset + done); });
}

std::string File::read(std::byte* data, std::int64_t bytes, std::int64_t offset) const {
  return whole(bytes,
               [&](std::int64_t done) { return pread(descriptor_, data + done, bytes - done, offset + done); });
}

bool File::in_memory() const {
  struct statfs facts{};
  return fstatfs(descriptor_, &facts) == 0 &&
         (facts.f_type == TMPFS_MAGIC || facts.f_type == static_cast<long>(RAMFS_MAGIC));
}

bool File::bypass_cache() const {
  return fcntl(descriptor_, F_SETFL, fcntl(descriptor_, F_GETFL) | O_DIRECT) == 0;
}

void File::leave_cache() const { posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED); }

double File::resident_share(std::int64_t bytes) const {
  if (bytes <= 0) return 0;
  void* pages = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor_, 0);
  // What bypasses the page cache cannot be mapped (FUSE with direct_io).
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

}  // namespace scope
