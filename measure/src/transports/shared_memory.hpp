// Memory that two processes of one host share.
#pragma once

#include "transports/partner.hpp"

namespace scope {

// Distance that avoids false sharing: a cache line and the adjacent prefetched one.
constexpr std::size_t line_bytes = 64;
constexpr std::size_t apart_bytes = 2 * line_bytes;

// Zeroed and mapped by both partners; unlinked before the first message.
class SharedMemory {
 public:
  SharedMemory(const Partner& partner, std::size_t bytes);  // throws Unavailable on both
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace scope
