// Memory that two processes of one host share.
#pragma once

#include "active-messages/src/descriptor.hpp"
#include "transports/partner.hpp"

namespace scope {

// Distance that avoids false sharing: a cache line and the adjacent prefetched one.
constexpr std::size_t line_bytes = 64;
constexpr std::size_t apart_bytes = 2 * line_bytes;

// Zeroed and mapped by both partners; unlinked before the first message.
class SharedMemory {
 public:
  SharedMemory(const Partner& partner, std::size_t bytes);  // throws Unavailable on both

  std::byte* data() const { return mapping_.data(); }

 private:
  active_messages::Mapping mapping_;
};

}  // namespace scope
