// Frames that are sent together. One pass through the kernel costs about as much for 64 KiB as for one frame, so
// TCP hands over long segments and lets the network card cut them (segmentation offload). Raw frames cannot be
// cut, but UDP packets can: here each piece is a whole frame, with IPv4 and UDP headers instead of its own type.
// If nothing on the path needs short packets, as between hosts of one machine, they also arrive together.
#pragma once

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <vector>

#include "descriptor.hpp"
#include "interface.hpp"

namespace scope::active_messages {

// Ethernet, IPv4 without options and UDP, before the first frame.
inline constexpr std::size_t segment_head_bytes = ethernet_bytes + 20 + 8;
// The address that the receiver's filter looks for: 224.0.0.254, the multicast address for experiments on one link
// (RFC 4727), for which packets are neither routed nor answered.
inline constexpr std::uint32_t segments_address = 0xE00000FE;
inline constexpr std::uint16_t segments_port = ethertype;
inline constexpr std::size_t longest_packet = 65'535;  // maximum of IPv4, without the Ethernet header

// Precedes the packet: tasks for the kernel or the card (struct virtio_net_hdr, whose header is not valid C++).
struct Offload {
  std::uint8_t flags, kind;
  std::uint16_t head_bytes, segment_bytes, sum_from, sum_at;
};
constexpr std::uint8_t needs_sum = 1;  // VIRTIO_NET_HDR_F_NEEDS_CSUM
constexpr std::uint8_t cut_udp = 5;    // VIRTIO_NET_HDR_GSO_UDP_L4
constexpr std::uint16_t network(std::size_t value) { return __builtin_bswap16(static_cast<std::uint16_t>(value)); }

// The Internet checksum (RFC 1071), not yet inverted.
inline std::uint16_t sum_of(const void* words, std::size_t bytes) {
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint16_t)) {
    std::uint16_t word;
    std::memcpy(&word, static_cast<const std::byte*>(words) + at, sizeof word);
    sum += word;
  }
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

struct [[gnu::packed]] Head {
  Offload offload;
  std::array<std::byte, ethernet_bytes> ethernet;
  iphdr ip;
  udphdr udp;
};

static_assert(sizeof(Head) == sizeof(Offload) + segment_head_bytes);

inline Head head_of(Bytes ethernet, std::size_t bytes, std::size_t frame_bytes) {
  Head head{};
  head.offload = {needs_sum,
                  cut_udp,
                  segment_head_bytes,
                  static_cast<std::uint16_t>(frame_bytes),
                  segment_head_bytes - sizeof(udphdr),
                  offsetof(udphdr, check)};
  std::memcpy(head.ethernet.data(), ethernet.data(), ethernet_bytes);
  const std::uint16_t type = network(ETH_P_IP);
  std::memcpy(head.ethernet.data() + 2 * sizeof(Ethernet), &type, sizeof type);

  iphdr ip{};
  ip.version = 4;
  ip.ihl = sizeof ip / 4;
  ip.tot_len = network(sizeof ip + sizeof(udphdr) + bytes);
  ip.ttl = 1;
  ip.protocol = IPPROTO_UDP;
  ip.daddr = __builtin_bswap32(segments_address);  // the source stays 0.0.0.0
  ip.check = static_cast<std::uint16_t>(~sum_of(&ip, sizeof ip));
  head.ip = ip;

  udphdr udp{};
  udp.source = udp.dest = network(segments_port);
  udp.len = network(sizeof udp + bytes);
  const struct {
    std::uint32_t source, destination;
    std::uint16_t protocol, length;
  } pseudo{ip.saddr, ip.daddr, network(IPPROTO_UDP), udp.len};
  udp.check = sum_of(&pseudo, sizeof pseudo);  // initial value for the sum over the rest
  head.udp = udp;
  return head;
}

// Sends frames of one source to one destination as one packet.
class SegmentSender {
 public:
  SegmentSender() = default;
  // Does not work if the kernel refuses (before Linux 6.2).
  explicit SegmentSender(const Interface& interface, int buffer_bytes) {
    Descriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int yes = 1;
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_ifindex = static_cast<int>(interface.index);
    // Protocol 0: nothing is received here.
    if (!socket || ::setsockopt(socket.get(), SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof yes) != 0 ||
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      return;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
    // The kernel would cut longer packets at once, so that they would not be cheaper.
    longest_ = std::clamp(longest_offload(interface), interface.mtu, longest_packet);
    socket_ = std::move(socket);
  }

  bool works() const { return socket_.get() >= 0; }
  // Maximum number of frames of this length, without their Ethernet headers, in a packet.
  std::size_t most(std::size_t frame_bytes) const {
    return (longest_ - (segment_head_bytes - ethernet_bytes)) / frame_bytes;
  }
  // `ethernet`: the header of any of the frames; `frames`: all frames without it, in pieces; each has
  // `frame_bytes`, except the last, which may be shorter. Returns 0 or errno. The sender disables itself if the
  // kernel does not know the request.
  int send(Bytes ethernet, std::span<const iovec> frames, std::size_t frame_bytes) {
    std::size_t bytes = 0;
    for (const iovec& piece : frames) bytes += piece.iov_len;
    Head head = head_of(ethernet, bytes, frame_bytes);
    pieces_.assign(1, {&head, sizeof head});
    pieces_.insert(pieces_.end(), frames.begin(), frames.end());
    msghdr message{};
    message.msg_iov = pieces_.data();
    message.msg_iovlen = pieces_.size();
    if (::sendmsg(socket_.get(), &message, 0) >= 0) return 0;
    const int error = errno;
    if (error == EINVAL || error == EOPNOTSUPP || error == EMSGSIZE) socket_ = Descriptor();
    return error;
  }

 private:
  Descriptor socket_;
  std::size_t longest_ = longest_packet;
  std::vector<iovec> pieces_;
};

}  // namespace scope::active_messages
