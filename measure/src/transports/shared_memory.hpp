// Memory shared by two processes of one host.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "active-messages/src/descriptor.hpp"
#include "transports/partner.hpp"
#include "transports/socket.hpp"

namespace scope {

// Distance that avoids false sharing: a cache line and the adjacent prefetched one.
constexpr std::size_t line_bytes = 64;
constexpr std::size_t apart_bytes = 2 * line_bytes;

// Names in the directory of shm_open, a function that older systems have in a separate library.
using Name = std::array<char, 64>;

// Makes the memory under an unpredictable name, which is written to `name`.
inline Socket make(Name& name, std::size_t bytes) {
  Socket file(mkostemp(name.data(), O_CLOEXEC));
  if (!file.open()) fail(name.data());
  // Reserved now, so that a full /dev/shm causes an error here and not a SIGBUS later.
  const int problem = posix_fallocate(file.descriptor(), 0, static_cast<off_t>(bytes));
  if (problem != 0) {
    unlink(name.data());
    errno = problem;
    fail("posix_fallocate in /dev/shm");
  }
  return file;
}

inline active_messages::Mapping map(const Socket& file, std::size_t bytes) {
  if (!file.open()) fail("shared memory of the other process");
  active_messages::Mapping memory(bytes, MAP_SHARED, file.descriptor(), 0);
  if (!memory) fail("mmap");
  return memory;
}

// Zeroed and mapped by both partners; unlinked before the first message.
class SharedMemory {
 public:
  // Throws Unavailable on both sides.
  SharedMemory(const Partner& partner, std::size_t bytes) {
    Name own{"/dev/shm/scope-measure-XXXXXX"};
    try {
      const Name theirs = partner.agree([&] {
        if (partner.leads) mapping_ = map(make(own, bytes), bytes);
        return own;
      });
      partner.agree([&] {
        if (!partner.leads) mapping_ = map(Socket(open(theirs.data(), O_RDWR | O_NOFOLLOW | O_CLOEXEC)), bytes);
      });
    } catch (...) {
      if (partner.leads) unlink(own.data());
      throw;
    }
    if (partner.leads) unlink(own.data());
  }

  std::byte* data() const { return mapping_.data(); }

 private:
  active_messages::Mapping mapping_;
};

}  // namespace scope
