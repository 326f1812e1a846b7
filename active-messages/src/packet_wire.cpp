// AF_PACKET: frames leave through the queue discipline of the interface, and arrive in a ring that is shared with the
// kernel, so that polling is no system call.
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

#include "capabilities.hpp"
#include "descriptor.hpp"
#include "wire.hpp"

namespace scope::active_messages {
namespace {

constexpr std::size_t least_ring_bytes = 4 << 20;
constexpr std::size_t fewest_slots = 128;
constexpr std::size_t batch_frames = 32;
constexpr int send_buffer_bytes = 1 << 20;  // the kernel's own account: some 400 frames of 1500 bytes

// Frames for this host and this port, but for a share that is lost. The kernel has compared the type already.
std::vector<sock_filter> filter_of(std::uint16_t port, double loss) {
  const auto lost = static_cast<std::uint32_t>(std::min(loss, 1.0) * 0xFFFFFFFF);
  return {
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, static_cast<unsigned>(SKF_AD_OFF) + SKF_AD_PKTTYPE),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_HOST, 0, 5),
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ethernet_bytes),
      // The filter loads in network byte order.
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __builtin_bswap16(port), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(SKF_AD_OFF) + SKF_AD_RANDOM),
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
    // As much as the system allows; less only means more waiting.
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &send_buffer_bytes, sizeof send_buffer_bytes);
    make_ring();
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = __builtin_bswap16(ethertype);
    address.sll_ifindex = static_cast<int>(interface.index);
    if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      refuse("AF_PACKET on " + interface.name, {});
    heads_.resize(batch_frames);
    storage_.resize(batch_frames * longest_frame());
  }

  std::string name() const override {
    return "AF_PACKET on " + interface_.name + (remark_.empty() ? "" : " (" + remark_ + ")");
  }
  std::size_t longest_frame() const override { return ethernet_bytes + interface_.mtu; }
  std::size_t receive_slots() const override { return slots_; }
  int descriptor() const override { return socket_.get(); }

  bool send(Bytes head, Bytes body) override {
    if (waiting_ == batch_frames) flush();
    if (waiting_ == batch_frames) return false;
    std::byte* place = storage_.data() + waiting_ * longest_frame();
    std::memcpy(place, head.data(), head.size());
    if (!body.empty()) std::memcpy(place + head.size(), body.data(), body.size());
    std::size_t bytes = head.size() + body.size();
    if (bytes < shortest_frame) {
      std::memset(place + bytes, 0, shortest_frame - bytes);
      bytes = shortest_frame;
    }
    heads_[waiting_++] = {place, bytes};
    return true;
  }

  void flush() override {
    std::size_t done = 0;
    if (waiting_ == 1) {
      done = ::send(socket_.get(), heads_[0].iov_base, heads_[0].iov_len, 0) >= 0 || lost(errno) ? 1 : 0;
    } else if (waiting_ > 1) {
      mmsghdr messages[batch_frames]{};
      for (std::size_t index = 0; index < waiting_; ++index) {
        messages[index].msg_hdr.msg_iov = &heads_[index];
        messages[index].msg_hdr.msg_iovlen = 1;
      }
      while (done < waiting_) {
        const int sent =
            ::sendmmsg(socket_.get(), messages + done, static_cast<unsigned>(waiting_ - done), 0);
        if (sent > 0)
          done += static_cast<std::size_t>(sent);
        else if (lost(errno))
          ++done;
        else
          break;
      }
    }
    // The unsent stay in front. Their bytes are moved: this happens only when the interface is congested.
    for (std::size_t index = done; index < waiting_; ++index) {
      std::byte* place = storage_.data() + (index - done) * longest_frame();
      std::memmove(place, heads_[index].iov_base, heads_[index].iov_len);
      heads_[index - done] = {place, heads_[index].iov_len};
    }
    waiting_ -= done;
  }

  Bytes receive() override {
    if (held_) {
      std::atomic_ref(slot(next_)->tp_status).store(TP_STATUS_KERNEL, std::memory_order_release);
      next_ = next_ + 1 == slots_ ? 0 : next_ + 1;
      held_ = false;
    }
    tpacket2_hdr* here = slot(next_);
    if (!(std::atomic_ref(here->tp_status).load(std::memory_order_acquire) & TP_STATUS_USER)) return {};
    held_ = true;
    return {reinterpret_cast<const std::byte*>(here) + here->tp_mac, here->tp_snaplen};
  }

 private:
  template <class Value>
  void set(int level, int option, const Value& value) {
    if (::setsockopt(socket_.get(), level, option, &value, sizeof value) != 0)
      refuse("AF_PACKET on " + interface_.name, {});
  }

  // A full queue takes the frame later: the socket's (EAGAIN) or that of the queue discipline (ENOBUFS). What is refused
  // for another reason is lost, as on any wire.
  static bool lost(int error) { return error != EAGAIN && error != ENOBUFS && error != EINTR; }

  void make_ring() {
    // Slots fill blocks of whole pages: a power of two of them a short block, a long one a block of its own.
    const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t needed = TPACKET2_HDRLEN + std::size_t{64} + longest_frame();
    slot_bytes_ = needed <= page ? std::bit_ceil(needed) : (needed + page - 1) / page * page;
    const std::size_t block = needed <= page ? std::max<std::size_t>(page, 1 << 16) : slot_bytes_;
    const std::size_t ring_bytes =
        std::max(least_ring_bytes / block, fewest_slots * slot_bytes_ / block) * block;
    tpacket_req request{};
    request.tp_block_size = static_cast<unsigned>(block);
    request.tp_block_nr = static_cast<unsigned>(ring_bytes / block);
    request.tp_frame_size = static_cast<unsigned>(slot_bytes_);
    slots_ = ring_bytes / slot_bytes_;
    request.tp_frame_nr = static_cast<unsigned>(slots_);
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
  std::size_t slot_bytes_ = 0, slots_ = 0, next_ = 0;
  bool held_ = false;
  std::vector<iovec> heads_;
  std::vector<std::byte> storage_;
  std::size_t waiting_ = 0;
};

}  // namespace

std::unique_ptr<EthernetWire> packet_wire(const Interface& interface, std::uint16_t port, double loss,
                                          const std::string& remark) {
  return std::make_unique<PacketWire>(interface, port, loss, remark);
}

}  // namespace scope::active_messages
