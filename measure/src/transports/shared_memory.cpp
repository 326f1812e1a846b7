#include "transports/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "transports/socket.hpp"

namespace scope {
namespace {

// The folder of shm_open, which older systems keep in a separate library.
using Name = std::array<char, 64>;

// Makes the memory under a name that nobody could foresee, which is written to `name`.
Socket make(Name& name, std::size_t bytes) {
  Socket file(mkostemp(name.data(), O_CLOEXEC));
  if (!file.open()) fail(name.data());
  // Reserved now, so that a full /dev/shm is an error here and not a SIGBUS later.
  const int problem = posix_fallocate(file.descriptor(), 0, static_cast<off_t>(bytes));
  if (problem != 0) {
    unlink(name.data());
    errno = problem;
    fail("posix_fallocate in /dev/shm");
  }
  return file;
}

std::byte* map(const Socket& file, std::size_t bytes) {
  if (!file.open()) fail("shared memory of the other process");
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(), 0);
  if (memory == MAP_FAILED) fail("mmap");
  return static_cast<std::byte*>(memory);
}

}  // namespace

SharedMemory::SharedMemory(const Partner& partner, std::size_t bytes) : bytes_(bytes) {
  Name own{"/dev/shm/scope-measure-XXXXXX"};
  try {
    const Name theirs = partner.agree([&] {
      if (partner.leads) data_ = map(make(own, bytes_), bytes_);
      return own;
    });
    partner.agree([&] {
      if (!partner.leads) data_ = map(Socket(open(theirs.data(), O_RDWR | O_NOFOLLOW | O_CLOEXEC)), bytes_);
    });
  } catch (...) {
    if (data_ != nullptr) munmap(data_, bytes_);
    if (partner.leads) unlink(own.data());
    throw;
  }
  if (partner.leads) unlink(own.data());
}

SharedMemory::~SharedMemory() { munmap(data_, bytes_); }

}  // namespace scope
