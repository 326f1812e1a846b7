// Frames that travel together. One pass through the kernel costs about as much for 64 KiB as for one frame, so TCP
// hands over long segments and lets the network card cut them (segmentation offload). Raw frames cannot be cut, UDP
// packets can: here each piece is a whole frame, behind IPv4 and UDP headers in place of its own type. Where nothing
// on the way needs short packets, as between hosts of one machine, they arrive together, too.
#pragma once

#include <sys/uio.h>

#include <span>
#include <vector>

#include "descriptor.hpp"
#include "interface.hpp"

namespace scope::active_messages {

// Ethernet, IPv4 without options and UDP, before the first frame.
inline constexpr std::size_t segment_head_bytes = ethernet_bytes + 20 + 8;
// What the filter of the receiver looks for. The destination, 224.0.0.254, is the multicast address for experiments on one
// link (RFC 4727): nobody routes such packets or answers them.
inline constexpr std::uint32_t segments_address = 0xE00000FE;
inline constexpr std::uint16_t segments_port = ethertype;
inline constexpr std::size_t longest_packet = 65'535;  // of IPv4, without the Ethernet header

// Sends frames of one source to one destination as one packet.
class SegmentSender {
 public:
  SegmentSender() = default;
  // Does not work where the kernel refuses (before Linux 6.2).
  explicit SegmentSender(const Interface& interface, int buffer_bytes);

  bool works() const { return socket_.get() >= 0; }
  // How many frames of this length, without their Ethernet headers, make a packet.
  std::size_t most(std::size_t frame_bytes) const {
    return (longest_ - (segment_head_bytes - ethernet_bytes)) / frame_bytes;
  }
  // `ethernet`: the header of any of the frames; `frames`: all of them without it, in pieces; each has `frame_bytes`,
  // but for the last, which may be shorter. Returns 0 or what errno tells. The sender stops working when the kernel
  // does not know what was asked.
  int send(Bytes ethernet, std::span<const iovec> frames, std::size_t frame_bytes);

 private:
  Descriptor socket_;
  std::size_t longest_ = longest_packet;
  std::vector<iovec> pieces_;
};

}  // namespace scope::active_messages
