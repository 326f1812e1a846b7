// Buffers for the messages of a ping-pong: sent from one buffer and received into another, as in other suites, or
// echoed from the buffer in which they arrived.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "declaration.hpp"
#include "memory/message_slots.hpp"

namespace scope {

inline Parameter buffers_parameter() {
  return layout("buffers", "two,one",
                "a rank sends from one buffer and receives into another, or uses a single buffer for both")
      .worded(",echoed from one buffer");
}

class PingPongBuffers {
 public:
  // `posted_early`: the next message is received in a different place from the one that is sent or verified.
  PingPongBuffers(const std::string& buffers, std::int64_t bytes, const SlotLayout& layout, bool first,
                  bool posted_early)
      : two_(buffers == "two"),
        first_(first),
        sent_(two_ ? bytes : 0, layout),
        arrived_(bytes, layout.at_least(posted_early ? 2 : 1)) {}

  std::byte* source() { return two_ ? sent_[0] : arrived_[0]; }
  std::byte* destination() { return arrived_.next(); }
  // To be called after a message has arrived.
  void turn() {
    arrived_.turn();
    if (two_) sent_.turn();
  }

  // Only the place of the last message is cleared, as a receive may be posted in another place.
  void fill(std::uint64_t seed) {
    if (two_) sent_.write_pattern(sent_by(first_, seed));
    if (!two_ && first_)
      write_pattern(arrived_.slot(0), seed);
    else
      std::ranges::fill(arrived_.slot(0), std::byte{0});
  }
  std::string problem(std::uint64_t seed) {
    return pattern_problem(arrived_.slot(0), two_ ? sent_by(!first_, seed) : seed);
  }
  double kept_share(std::int64_t calls) const { return two_ ? 1.0 / static_cast<double>(calls) : 1; }
  std::span<std::byte> received() { return arrived_.slot(0); }
  std::vector<std::span<const std::byte>> memory() { return {sent_.memory(), arrived_.memory()}; }

 private:
  static std::uint64_t sent_by(bool first, std::uint64_t seed) { return 2 * seed + (first ? 1 : 0); }

  bool two_;
  bool first_;
  MessageSlots sent_;
  MessageSlots arrived_;
};

}  // namespace scope
