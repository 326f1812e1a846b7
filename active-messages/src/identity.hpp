// The identity of this process for other processes.
#pragma once

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "authentication.hpp"
#include "descriptor.hpp"
#include "endpoint.hpp"

namespace scope::active_messages {

constexpr unsigned ports = 65'535;              // 1 to 65535
inline constexpr int process_number_bits = 22;  // maximum on Linux

inline std::string contents(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Not secret: any function that separates its inputs suffices.
inline std::uint64_t hashed(const std::string& text) {
  SipHash hash(SessionKey{});
  for (std::size_t at = 0; at < text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
    hash.absorb(word);
  }
  return hash.finish();
}

inline std::string inode(const char* path) {
  struct stat facts{};
  if (::stat(path, &facts) != 0) return "none";
  return std::to_string(facts.st_dev) + ":" + std::to_string(facts.st_ino);
}

// The same for processes under one kernel that see the same network interfaces and the same /dev/shm.
inline std::uint64_t host_identity() {
  return hashed(contents("/proc/sys/kernel/random/boot_id") + inode("/proc/self/ns/net") + inode("/dev/shm"));
}

// The process number in the lowest bits and new random bits at each call: distinguishes an endpoint from any later
// one with its port, and tells processes of its host where to find it.
inline std::uint64_t process_identity() {
  // Random instead of process id and start time, so that nobody can record frames for a future process.
  std::uint64_t identity = 0;
  if (::getrandom(&identity, sizeof identity, 0) != sizeof identity)
    throw Error(std::string("no random number: ") + std::strerror(errno));
  return identity << process_number_bits | static_cast<std::uint64_t>(::getpid());
}

// A port of an interface that belongs to this process until release() or its end.
class Port {
 public:
  // Error if all ports are taken
  explicit Port(const std::string& interface) {
    // A name in the abstract namespace of UNIX sockets belongs to a network namespace, like interfaces, and
    // disappears with its process. Other users who take names only make us choose another.
    claim_ = Descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!claim_) throw Error(std::string("cannot open a socket to claim a port: ") + std::strerror(errno));
    const auto first = static_cast<unsigned>((process_identity() >> process_number_bits) % ports);
    for (unsigned attempt = 0; attempt < ports; ++attempt) {
      number_ = static_cast<std::uint16_t>(1 + (first + attempt) % ports);
      const std::string name = "scope-active-messages/" + interface + "/" + std::to_string(number_);
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::memcpy(address.sun_path + 1, name.data(), name.size());
      const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
      if (::bind(claim_.get(), reinterpret_cast<const sockaddr*>(&address), bytes) == 0) return;
      if (errno != EADDRINUSE) break;
    }
    throw Error("no port of interface '" + interface + "' could be claimed: " + std::strerror(errno));
  }
  std::uint16_t number() const { return number_; }

 private:
  Descriptor claim_;
  std::uint16_t number_ = 0;
};

}  // namespace scope::active_messages
