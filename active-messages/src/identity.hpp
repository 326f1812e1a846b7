// Who this process is, for others.
#pragma once

#include <cstdint>
#include <string>

namespace scope::active_messages {

// Equal for processes under one kernel that see the same network interfaces and the same /dev/shm.
std::uint64_t host_identity();

// The process number in the lowest bits, the rest drawn again at each call: tells an endpoint from any later
// one with its port, and the processes of its host where to find it.
std::uint64_t process_identity();
inline constexpr int process_number_bits = 22;  // Linux gives no larger numbers

// A port of an interface that belongs to this process until release() or its end.
class Port {
 public:
  explicit Port(const std::string& interface);  // Error when all are taken
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  std::uint16_t number() const { return number_; }

 private:
  int claim_ = -1;
  std::uint16_t number_ = 0;
};

}  // namespace scope::active_messages
