// The format of frames, which active-messages/README.md has as a table. All numbers are little-endian.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "authentication.hpp"
#include "endpoint.hpp"

namespace scope::active_messages {

constexpr std::uint16_t ethertype = 0x88B5;  // local experimental (IEEE 802)
constexpr std::size_t ethernet_bytes = 14;
constexpr std::size_t shortest_frame = 60;  // without its check sequence

enum class FrameKind : std::uint8_t { hello, request, reply, put_part, farewell, acknowledgement };

using Ethernet = std::array<std::byte, 6>;

// The header that follows the Ethernet header.
struct FrameHeader {
  std::uint16_t destination_port, source_port;
  std::uint8_t kind;          // a FrameKind and the two bits below
  std::uint8_t header_bytes;  // length of the message's header, which starts the body
  std::uint16_t body_bytes;
  std::uint32_t sequence;      // the low half; the tag covers all 64 bits
  std::uint32_t acknowledged;  // low half of the number of the first frame that has not arrived
  std::uint16_t granted;       // number of frames after `acknowledged` that requests may use
  std::uint16_t handler;
  std::uint32_t tag_low, tag_high;  // two halves, to avoid padding
};
static_assert(sizeof(FrameHeader) == 28 && alignof(FrameHeader) == 4);
static_assert(std::endian::native == std::endian::little, "frames are written as they lie in memory");

constexpr std::uint8_t prompt = 0x80;          // asks for a prompt acknowledgement
constexpr std::uint8_t takes_segments = 0x40;  // the sender of this frame understands frames sent together
constexpr FrameKind kind_of(const FrameHeader& header) {
  return static_cast<FrameKind>(header.kind & ~(prompt | takes_segments));
}
constexpr std::size_t head_bytes = ethernet_bytes + sizeof(FrameHeader);

// The body of a hello: the identity of the sender. Port and Ethernet address are in the frame's headers.
struct Introduction {
  std::uint64_t process, host;
};

// Between the header and the bytes of a part of a put.
struct PartHeader {
  std::uint32_t region, offset_low, offset_high;
  std::uint64_t offset() const { return std::uint64_t{offset_high} << 32 | offset_low; }
};
static_assert(sizeof(PartHeader) == 12);

// From the header to the end of the body.
constexpr std::size_t frame_bytes(const FrameHeader& header) {
  return sizeof header + (kind_of(header) == FrameKind::put_part ? sizeof(PartHeader) : 0) + header.body_bytes;
}

// The number nearest to `near` whose low half is `low`.
inline std::uint64_t extended(std::uint32_t low, std::uint64_t near) {
  return near + static_cast<std::uint64_t>(
                    static_cast<std::int64_t>(static_cast<std::int32_t>(low - static_cast<std::uint32_t>(near))));
}

// Tags of the frames from one process to another.
class Seal {
 public:
  Seal(const SessionKey& key, std::uint64_t source_process, std::uint64_t destination_process) : start_(key) {
    start_.absorb(source_process);
    start_.absorb(destination_process);
  }
  // `part` is zero in frames without a part.
  std::uint64_t tag(const FrameHeader& header, std::uint64_t sequence, std::uint64_t acknowledged,
                    const PartHeader& part, const Digest& body) const {
    SipHash hash = start_;
    std::uint64_t first;
    std::memcpy(&first, &header, sizeof first);  // ports, kind and lengths
    const std::uint64_t third =
        std::uint64_t{part.region} << 32 | std::uint32_t{header.granted} << 16 | header.handler;
    for (const std::uint64_t word : {first, sequence, acknowledged, third, part.offset(), body.low, body.high})
      hash.absorb(word);
    return hash.finish();
  }

 private:
  SipHash start_;
};

}  // namespace scope::active_messages
