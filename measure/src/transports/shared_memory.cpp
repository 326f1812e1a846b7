#include "transports/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "transports/socket.hpp"

namespace scope {
namespace {

// The folder of shm_open, which older systems keep in a separate library.
using Name = std::array<char, 64>;

// Opens or makes the memory of this name and maps it.
std::byte* map(const Name& name, std::size_t bytes, int flags) {
  const Socket file(open(name.data(), flags | O_CLOEXEC, 0600));
  if (!file.open()) fail(name.data());
  if ((flags & O_CREAT) != 0) {
    // Reserved now, so that a full /dev/shm is an error here and not a SIGBUS later.
    const int problem = posix_fallocate(file.descriptor(), 0, static_cast<off_t>(bytes));
    if (problem != 0) {
      unlink(name.data());
      errno = problem;
      fail("posix_fallocate in /dev/shm");
    }
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(), 0);
  if (memory == MAP_FAILED) fail("mmap");
  return static_cast<std::byte*>(memory);
}

}  // namespace

SharedMemory::SharedMemory(const Partner& partner, std::size_t bytes) : bytes_(bytes) {
  static int made = 0;
  Name own{};
  std::snprintf(own.data(), own.size(), "/dev/shm/scope-measure-%d-%d", static_cast<int>(getpid()), made++);
  try {
    const Name theirs = partner.agree([&] {
      if (partner.leads) data_ = map(own, bytes_, O_RDWR | O_CREAT | O_EXCL);
      return own;
    });
    partner.agree([&] {
      if (!partner.leads) data_ = map(theirs, bytes_, O_RDWR);
      return true;
    });
  } catch (...) {
    if (data_ != nullptr) munmap(data_, bytes_);
    if (partner.leads) unlink(own.data());
    throw;
  }
  if (partner.leads) unlink(own.data());
}

SharedMemory::~SharedMemory() {
  munmap(data_, bytes_);
}

}  // namespace scope
