// AF_PACKET: frames leave through the queue discipline of the interface, and arrive in a ring shared with the
// kernel, so that polling does not need a system call.
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "capabilities.hpp"
#include "descriptor.hpp"
#include "segments.hpp"
#include "wire.hpp"

namespace scope::active_messages {
namespace {

constexpr std::size_t least_ring_bytes = 4 << 20;
constexpr std::size_t fewest_slots = 128;
constexpr std::size_t batch_frames = 64;
// A packet is for one process, whose port follows the Ethernet header.
constexpr std::size_t destination_bytes = ethernet_bytes + sizeof(FrameHeader::destination_port);
// Fewer frames save less than the cost of their headers and of the receiver's IP stack, which drops them.
constexpr std::size_t fewest_together = 3;
constexpr int refusals_limit = 64;          // consecutive refused packets whose frames passed one by one
constexpr int send_buffer_bytes = 1 << 20;  // as counted by the kernel: about 400 frames of 1500 bytes
// For frames that arrive together; the kernel also counts its overhead.
constexpr int receive_buffer_bytes = 8 << 20;
constexpr int least_receive_buffer_bytes = 256 << 10;
constexpr std::size_t buffer_bytes_per_byte = 2;

// Accepts frames for this host and port, single or together, except for a fraction `loss`.
std::vector<sock_filter> filter_of(std::uint16_t port, double loss) {
  const auto lost = static_cast<std::uint32_t>(std::min(loss, 1.0) * 0xFFFFFFFF);
  constexpr auto ancillary = [](int which) { return static_cast<unsigned>(SKF_AD_OFF + which); };
  constexpr unsigned type_at = 2 * sizeof(Ethernet), ip_at = ethernet_bytes;
  constexpr unsigned udp_at = segment_head_bytes - sizeof(udphdr);
  constexpr unsigned short word = BPF_LD | BPF_W | BPF_ABS, half = BPF_LD | BPF_H | BPF_ABS,
                           byte = BPF_LD | BPF_B | BPF_ABS, equal = BPF_JMP | BPF_JEQ | BPF_K;
  // Jumps count the instructions that they skip.
  return {
      BPF_STMT(half, ancillary(SKF_AD_PKTTYPE)),
      BPF_JUMP(equal, PACKET_HOST, 0, 18),
      BPF_STMT(half, type_at),
      BPF_JUMP(equal, ethertype, 0, 2),
      BPF_STMT(half, ethernet_bytes),
      BPF_STMT(BPF_JMP | BPF_JA, 10),
      BPF_JUMP(equal, ETH_P_IP, 0, 13),
      BPF_STMT(byte, ip_at),
      BPF_JUMP(equal, 0x45, 0, 11),  // version 4, no options
      BPF_STMT(byte, ip_at + offsetof(iphdr, protocol)),
      BPF_JUMP(equal, IPPROTO_UDP, 0, 9),
      // A sender with only sockets cannot combine this address with our Ethernet address.
      BPF_STMT(word, ip_at + offsetof(iphdr, daddr)),
      BPF_JUMP(equal, segments_address, 0, 7),
      BPF_STMT(half, udp_at + offsetof(udphdr, dest)),
      BPF_JUMP(equal, segments_port, 0, 5),
      BPF_STMT(half, segment_head_bytes),
      // The filter loads in network byte order.
      BPF_JUMP(equal, __builtin_bswap16(port), 0, 3),
      BPF_STMT(word, ancillary(SKF_AD_RANDOM)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, lost, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0xFFFFFFFF),
      BPF_STMT(BPF_RET | BPF_K, 0),
  };
}

class PacketWire final : public EthernetWire {
 public:
  PacketWire(const Interface& interface, std::uint16_t port, double loss, const std::string& remark)
      : interface_(interface), remark_(remark) {
    // Protocol 0: nothing arrives before the filter is in place.
    socket_ = Descriptor(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_) refuse("AF_PACKET", {"cap_net_raw"});
    std::vector<sock_filter> code = filter_of(port, loss);
    const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    set(SOL_SOCKET, SO_ATTACH_FILTER, program);
    set(SOL_SOCKET, SO_LOCK_FILTER, 1);
    set(SOL_PACKET, PACKET_VERSION, static_cast<int>(TPACKET_V2));
    set(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
    // Up to the system's limit; a smaller buffer only means more waiting.
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &send_buffer_bytes, sizeof send_buffer_bytes);
    if (loss == 0) travel_together();
    make_ring();
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = __builtin_bswap16(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(interface.index);
    if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      refuse("AF_PACKET on " + interface.name, {});
    waiting_.reserve(batch_frames);
    storage_.resize(batch_frames * longest_frame());
  }

  std::string name() const override {
    return "AF_PACKET on " + interface_.name + (remark_.empty() ? "" : " (" + remark_ + ")");
  }
  std::size_t longest_frame() const override { return ethernet_bytes + interface_.mtu; }
  std::size_t longest_together() const override { return longest_together_; }
  bool shaped() const override { return shaped_; }
  std::size_t receive_slots() const override { return slots_; }
  int descriptor() const override { return socket_.get(); }

  bool send(Bytes head, Bytes body, bool together) override {
    if (waiting_.size() == batch_frames) flush();
    if (waiting_.size() == batch_frames) return false;
    std::byte* place = storage_.data() + waiting_.size() * longest_frame();
    std::memcpy(place, head.data(), head.size());
    Waiting& frame = waiting_.emplace_back();
    frame.pieces[0] = {place, head.size()};
    frame.pieces[1] = {const_cast<std::byte*>(body.data()), body.size()};
    frame.together =
        together && sender_.works() && frame.bytes() >= shortest_frame && frame.bytes() <= longest_together_;
    if (!frame.together) frame.gather();
    if (frame.bytes() < shortest_frame) {
      std::memset(place + frame.bytes(), 0, shortest_frame - frame.bytes());
      frame.pieces[0].iov_len = shortest_frame;
    }
    return true;
  }

  void flush() override {
    std::size_t done = 0;
    while (done < waiting_.size()) {
      const std::size_t together = run_from(done);
      const std::size_t sent = together > 0 ? send_together(done, together) : send_alone(done, alone_from(done));
      done += sent;
      if (sent < together || sent == 0) break;  // the queue is full
    }
    // Unsent frames move to the front. Moving their bytes is acceptable, because it happens only with congestion.
    for (std::size_t index = done; index < waiting_.size(); ++index) {
      Waiting& frame = waiting_[index];
      frame.gather();
      std::byte* place = storage_.data() + (index - done) * longest_frame();
      std::memmove(place, frame.pieces[0].iov_base, frame.bytes());
      frame.pieces[0].iov_base = place;
      waiting_[index - done] = frame;
    }
    waiting_.resize(waiting_.size() - done);
  }

  Bytes receive() override {
    if (!arrived_together_.empty()) return next_together();
    for (;;) {
      if (held_) {
        std::atomic_ref(slot(next_)->tp_status).store(TP_STATUS_KERNEL, std::memory_order_release);
        next_ = next_ + 1 == slots_in_ring_ ? 0 : next_ + 1;
        held_ = false;
      }
      tpacket2_hdr* here = slot(next_);
      const auto status = std::atomic_ref(here->tp_status).load(std::memory_order_acquire);
      if (!(status & TP_STATUS_USER)) return {};
      held_ = true;
      std::span packet(reinterpret_cast<std::byte*>(here) + here->tp_mac, here->tp_snaplen);
      // A packet longer than a slot waits complete at the socket.
      if (status & TP_STATUS_COPY)
        if (const std::size_t bytes = receive_long(); bytes > 0) packet = std::span(long_packet_).first(bytes);
      if (packet.size() < ethernet_bytes) continue;
      constexpr std::array<std::byte, 2> own = {std::byte{ethertype >> 8}, std::byte{ethertype & 0xFF}};
      if (std::equal(own.begin(), own.end(), packet.begin() + 2 * sizeof(Ethernet))) return packet;
      if (packet.size() <= segment_head_bytes) continue;
      std::copy_n(packet.begin(), ethernet_bytes, ethernet_.begin());
      arrived_together_ = packet.subspan(segment_head_bytes);
      return next_together();
    }
  }

 private:
  struct Waiting {
    std::array<iovec, 2> pieces;  // the head in storage_, and the rest
    bool together;
    std::size_t bytes() const { return pieces[0].iov_len + pieces[1].iov_len; }
    // There is room after the head.
    void gather() {
      auto& [head, body] = pieces;
      if (body.iov_len > 0)
        std::memcpy(static_cast<std::byte*>(head.iov_base) + head.iov_len, body.iov_base, body.iov_len);
      head.iov_len += std::exchange(body.iov_len, 0);
    }
  };

  void travel_together() {
    const std::size_t longest = ethernet_bytes + interface_.mtu - (segment_head_bytes - ethernet_bytes);
    sender_ = SegmentSender(interface_, send_buffer_bytes);
    if (sender_.most(longest - ethernet_bytes) < fewest_together) return;
    // With CAP_NET_ADMIN the requested size, else the system's limit.
    if (::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &receive_buffer_bytes,
                     sizeof receive_buffer_bytes) != 0)
      ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
    socklen_t length = sizeof buffer_bytes_;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &buffer_bytes_, &length) != 0 ||
        buffer_bytes_ < least_receive_buffer_bytes)
      return;
    set(SOL_PACKET, PACKET_COPY_THRESH, 1);
    long_packet_.resize(ethernet_bytes + longest_packet);
    longest_together_ = longest;
    shaped_ = !shaping(interface_).empty();
  }

  // How many frames from `first` can be sent together; 0 if it is not worthwhile.
  std::size_t run_from(std::size_t first) const {
    const Waiting& front = waiting_[first];
    if (!front.together || !sender_.works()) return 0;
    const std::size_t most = sender_.most(front.bytes() - ethernet_bytes);
    std::size_t end = first + 1;
    for (; end < std::min(waiting_.size(), first + most); ++end) {
      const Waiting& next = waiting_[end];
      if (!next.together || next.bytes() > front.bytes() || waiting_[end - 1].bytes() < front.bytes() ||
          std::memcmp(next.pieces[0].iov_base, front.pieces[0].iov_base, destination_bytes) != 0)
        break;
    }
    return end - first < fewest_together ? 0 : end - first;
  }

  // Both return the number of frames handed over; 0: not now.
  std::size_t send_together(std::size_t first, std::size_t count) {
    pieces_.clear();
    for (std::size_t index = first; index < first + count; ++index) {
      auto [head, body] = waiting_[index].pieces;
      head.iov_base = static_cast<std::byte*>(head.iov_base) + ethernet_bytes;
      head.iov_len -= ethernet_bytes;
      pieces_.push_back(head);
      if (body.iov_len > 0) pieces_.push_back(body);
    }
    const Bytes ethernet(static_cast<const std::byte*>(waiting_[first].pieces[0].iov_base), ethernet_bytes);
    const int error = sender_.send(ethernet, pieces_, waiting_[first].bytes() - ethernet_bytes);
    if (error == 0) refusals_ = 0;
    if (error == 0 || (sender_.works() && lost(error))) return count;
    if (error == EAGAIN || error == EINTR) return 0;
    // ENOBUFS means that a short queue does not have room for all, or that a filter on this host blocks them.
    const std::size_t sent = send_alone(first, count);
    if (sent > 0 && ++refusals_ == refusals_limit) sender_ = {};
    return sent;
  }

  std::size_t alone_from(std::size_t first) const {
    std::size_t end = first + 1;
    while (end < waiting_.size() && run_from(end) == 0) ++end;
    return end - first;
  }

  std::size_t send_alone(std::size_t first, std::size_t count) {
    mmsghdr messages[batch_frames]{};
    for (std::size_t index = 0; index < count; ++index) {
      messages[index].msg_hdr.msg_iov = waiting_[first + index].pieces.data();
      messages[index].msg_hdr.msg_iovlen = waiting_[first + index].pieces.size();
    }
    const int sent = count == 1 ? static_cast<int>(::sendmsg(socket_.get(), &messages[0].msg_hdr, 0) >= 0)
                                : ::sendmmsg(socket_.get(), messages, static_cast<unsigned>(count), 0);
    if (sent > 0) return static_cast<std::size_t>(sent);
    return lost(errno) ? 1 : 0;
  }

  // An error of the interface is reported once, instead of a packet; the packet is then requested again.
  std::size_t receive_long() {
    for (const int attempt : {1, 2}) {
      const ssize_t bytes = ::recv(socket_.get(), long_packet_.data(), long_packet_.size(), 0);
      if (bytes > 0) return static_cast<std::size_t>(bytes);
      if (bytes == 0 || errno == EAGAIN || attempt == 2) break;
    }
    return 0;
  }

  // The frame's own header overwrites the last bytes before it, which have already been read.
  Bytes next_together() {
    std::size_t bytes = arrived_together_.size();
    if (FrameHeader header; bytes >= sizeof header) {
      std::memcpy(&header, arrived_together_.data(), sizeof header);
      bytes = std::min(bytes, frame_bytes(header));
    }
    std::byte* frame = arrived_together_.data() - ethernet_bytes;
    std::copy(ethernet_.begin(), ethernet_.end(), frame);
    arrived_together_ = arrived_together_.subspan(bytes);
    return {frame, ethernet_bytes + bytes};
  }

  template <class Value>
  void set(int level, int option, const Value& value) {
    if (::setsockopt(socket_.get(), level, option, &value, sizeof value) != 0)
      refuse("AF_PACKET on " + interface_.name, {});
  }

  // If the socket's queue (EAGAIN) or the queue discipline's (ENOBUFS) is full, the frame is sent later. A frame
  // refused for another reason is lost, as on any wire.
  static bool lost(int error) { return error != EAGAIN && error != ENOBUFS && error != EINTR; }

  void make_ring() {
    // Slots fill blocks of whole pages: a power of two of short slots per block, or one block per long slot.
    const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t needed = TPACKET2_HDRLEN + std::size_t{64} + longest_frame();
    slot_bytes_ = needed <= page ? std::bit_ceil(needed) : (needed + page - 1) / page * page;
    const std::size_t block = needed <= page ? std::max<std::size_t>(page, 1 << 16) : slot_bytes_;
    const std::size_t ring_bytes = std::max(least_ring_bytes / block, fewest_slots * slot_bytes_ / block) * block;
    tpacket_req request{};
    request.tp_block_size = static_cast<unsigned>(block);
    request.tp_block_nr = static_cast<unsigned>(ring_bytes / block);
    request.tp_frame_size = static_cast<unsigned>(slot_bytes_);
    slots_in_ring_ = ring_bytes / slot_bytes_;
    // Frames that arrive together use room at the socket instead of slots.
    slots_ = slots_in_ring_;
    if (longest_together_ > 0)
      slots_ =
          std::min(slots_, static_cast<std::size_t>(buffer_bytes_) / (buffer_bytes_per_byte * longest_together_));
    request.tp_frame_nr = static_cast<unsigned>(slots_in_ring_);
    set(SOL_PACKET, PACKET_RX_RING, request);
    ring_ = Mapping(ring_bytes, MAP_SHARED, socket_.get(), 0);
    if (!ring_) refuse("the receive ring of AF_PACKET", {});
  }

  tpacket2_hdr* slot(std::size_t index) const {
    return reinterpret_cast<tpacket2_hdr*>(ring_.data() + index * slot_bytes_);
  }

  Interface interface_;
  std::string remark_;
  Descriptor socket_;
  Mapping ring_;
  std::size_t slot_bytes_ = 0, slots_in_ring_ = 0, slots_ = 0, next_ = 0;
  bool held_ = false;

  SegmentSender sender_;
  int refusals_ = 0;
  std::size_t longest_together_ = 0;
  bool shaped_ = false;
  int buffer_bytes_ = 0;
  std::vector<Waiting> waiting_;
  std::vector<std::byte> storage_;
  std::vector<iovec> pieces_;
  std::vector<std::byte> long_packet_;
  std::array<std::byte, ethernet_bytes> ethernet_{};
  std::span<std::byte> arrived_together_;
};

}  // namespace

std::unique_ptr<EthernetWire> packet_wire(const Interface& interface, std::uint16_t port, double loss,
                                          const std::string& remark) {
  return std::make_unique<PacketWire>(interface, port, loss, remark);
}

}  // namespace scope::active_messages
