#include "segments.hpp"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace scope::active_messages {
namespace {

// Before the packet: what the kernel or the card has to do (struct virtio_net_hdr, whose header is no C++).
struct Offload {
  std::uint8_t flags, kind;
  std::uint16_t head_bytes, segment_bytes, sum_from, sum_at;
};
constexpr std::uint8_t needs_sum = 1;  // VIRTIO_NET_HDR_F_NEEDS_CSUM
constexpr std::uint8_t cut_udp = 5;    // VIRTIO_NET_HDR_GSO_UDP_L4

constexpr std::uint16_t network(std::size_t value) { return __builtin_bswap16(static_cast<std::uint16_t>(value)); }

// The sum of the Internet (RFC 1071), not yet inverted.
std::uint16_t sum_of(const void* words, std::size_t bytes) {
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

Head head_of(Bytes ethernet, std::size_t bytes, std::size_t frame_bytes) {
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
  udp.check = sum_of(&pseudo, sizeof pseudo);  // where the sum over the rest begins
  head.udp = udp;
  return head;
}

}  // namespace

SegmentSender::SegmentSender(const Interface& interface, int buffer_bytes) {
  Descriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(interface.index);
  // Protocol 0: nothing arrives here.
  if (!socket || ::setsockopt(socket.get(), SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof yes) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
  // What is longer, the kernel would cut at once: longer is no cheaper then.
  longest_ = std::clamp(longest_offload(interface), interface.mtu, longest_packet);
  socket_ = std::move(socket);
}

int SegmentSender::send(Bytes ethernet, std::span<const iovec> frames, std::size_t frame_bytes) {
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

}  // namespace scope::active_messages
