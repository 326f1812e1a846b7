// Messages over a lossy medium: packets are numbered, acknowledged, and retransmitted from the first lost one.
//
// Go-back-N (Tanenbaum, Computer Networks, section 3.4.2). The receiver accepts packets only in order; at a gap it
// requests the first missing one at once, and a sender without an acknowledgement for 50 ms resumes there, too.
// Packets are retransmitted from the message's own memory, so nothing is copied. With credits, the sender stops if
// the receiver's socket buffer may be full; without credits, it continues and pays for losses.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>

#include <cerrno>
#include <chrono>
#include <deque>

#include "transports/socket.hpp"

namespace scope {

constexpr auto resend_after = std::chrono::milliseconds(50);
constexpr std::size_t brief_bytes = 1024;
constexpr std::size_t most_prefix_bytes = 32;
constexpr unsigned looks_between_clocks = 64;
constexpr int greetings = 20;
constexpr int last_greetings = 16;  // so that one of them arrives even if half of all packets are lost
constexpr int greeting_interval_ms = 100;

// In the receiver's socket buffer a packet takes its payload, at most this overhead, and a quarter for the
// kernel's rounding.
constexpr double bookkeeping_bytes = 2048;
constexpr double usable_share = 0.8;

class Datagrams final : public Transport {
 public:
  struct Header {
    std::uint32_t channel;
    std::uint32_t sequence;
    std::uint32_t acknowledged;  // all packets before it have arrived
    std::uint16_t bytes;         // size of the payload; 0: only an acknowledgement
    std::uint16_t gap;           // 1: the next packet is missing
  };
  // Marks of packets in each direction, which distinguish them from others' and from our own returning packets.
  struct Channels {
    std::uint32_t sent;
    std::uint32_t heard;
  };
  // `prefix` precedes the header of every packet, for example an Ethernet header. Both sides use the same
  // channels and payload size.
  Datagrams(Socket socket, const Partner& partner, const TransportOptions& options, std::vector<std::byte> prefix,
            Channels channels, std::size_t largest_payload)
      : Transport(options.sleeps),
        socket_(std::move(socket)),
        prefix_(std::move(prefix)),
        channels_(channels),
        largest_payload_(largest_payload),
        credit_bytes_(0) {
    // A sleeping receiver wakes up to check for retransmission.
    const timeval limit{0, std::chrono::microseconds(resend_after).count()};
    setsockopt(socket_.descriptor(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (!options.sleeps) fcntl(socket_.descriptor(), F_SETFL, O_NONBLOCK);
    const double room = 2 * partner.swap(socket_.buffer_bytes());  // the kernel counts its bookkeeping too
    // At least two packets, or nothing would overlap; a buffer that is too small for them loses some.
    if (options.credits) credit_bytes_ = std::max(usable_share * room, 2 * cost(largest_payload_));
    partner.agree([&] { hear_each_other(partner); });
  }

  void settle(const Partner& partner) override {
    partner.meet([&] { receive_some({}, false); });
    // The peer has finished its run, so all packets sent to it have arrived.
    unacknowledged_.clear();
    on_the_way_bytes_ = 0;
    oldest_ = current_ = next_;
  }
  bool settles() const override { return true; }
  double repeated() const override { return repeated_; }
  double buffer_bytes() const override { return socket_.buffer_bytes(); }

 protected:
  std::size_t send_some(std::span<const std::byte> rest, bool may_sleep) override {
    if (current_ != next_) {
      if (transmit(current_, unacknowledged_[current_ - oldest_], false, may_sleep)) {
        ++current_;
        ++repeated_;
      }
      return 0;
    }
    const auto payload = rest.first(std::min(rest.size(), largest_payload_));
    if (credit_bytes_ > 0 && on_the_way_bytes_ + cost(payload.size()) > credit_bytes_) return 0;
    if (!transmit(next_, payload, false, may_sleep)) return 0;
    unacknowledged_.push_back(payload);
    on_the_way_bytes_ += cost(payload.size());
    current_ = ++next_;
    return payload.size();
  }
  std::size_t receive_some(std::span<std::byte> rest, bool may_sleep) override {
    Header header;
    std::array<std::byte, most_prefix_bytes> prefix;
    std::array<iovec, 3> parts = {iovec{prefix.data(), prefix_.size()}, iovec{&header, sizeof header},
                                  iovec{rest.data(), rest.size()}};
    const bool brief = rest.size() <= brief_bytes;
    const ssize_t count = brief ? receive_in_one(parts, may_sleep) : move(recvmsg, readv, parts, may_sleep);
    if (count < 0) {
      if (!transient(errno)) fail("receive");
      if (may_sleep || ++vain_looks_ % looks_between_clocks == 0) start_again_when_silent();
      return 0;
    }
    if (count < static_cast<ssize_t>(prefix_.size() + sizeof header) || header.channel != channels_.heard)
      return 0;
    take_acknowledgement(header);
    if (header.bytes == 0) return 0;
    if (header.sequence == expected_ && header.bytes <= rest.size()) {
      ++expected_;
      gap_told_ = false;
      due_bytes_ += cost(header.bytes);
      // Half of the credits are returned at once; those for a single packet are returned with the answer or when
      // the next packet arrives.
      if (credit_bytes_ > 0 && due_bytes_ > cost(largest_payload_) && 2 * due_bytes_ >= credit_bytes_)
        acknowledge(false);
      return header.bytes;
    }
    if (before(header.sequence, expected_)) {
      acknowledge(false);  // retransmitted because our acknowledgement was lost
    } else if (before(expected_, header.sequence) && !gap_told_) {
      acknowledge(true);
      gap_told_ = true;
    }
    return 0;
  }
  void wait(bool /*sending*/, bool receiving) override {
    // A pure sender must read the acknowledgements.
    if (!receiving) receive_some({}, sleeps());
    if (!sleeps()) Transport::wait(false, receiving);
  }

 private:
  using Packet = std::array<std::byte, most_prefix_bytes + sizeof(Header) + brief_bytes>;

  static double cost(std::size_t payload) { return static_cast<double>(payload) + bookkeeping_bytes; }

  static bool before(std::uint32_t one, std::uint32_t other) { return static_cast<std::int32_t>(one - other) < 0; }

  static bool transient(int error) {
    // ENOBUFS: the interface's queue is full. ECONNREFUSED: the peer's socket was not open yet.
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR || error == ENOBUFS || error == ECONNREFUSED;
  }

  using Clock = std::chrono::steady_clock;

  // Sends empty, untimed packets until one has arrived from the peer, which shows that the path is open.
  void hear_each_other(const Partner&) {
    for (int greeting = 0; greeting < greetings; ++greeting) {
      transmit(next_, {}, false, false);
      pollfd ready{socket_.descriptor(), POLLIN, 0};
      while (poll(&ready, 1, greeting_interval_ms) == 1) {
        std::array<std::byte, 256> packet;
        const ssize_t count = recv(socket_.descriptor(), packet.data(), packet.size(), MSG_DONTWAIT);
        Header header{};
        if (count < static_cast<ssize_t>(prefix_.size() + sizeof header)) continue;
        std::memcpy(&header, packet.data() + prefix_.size(), sizeof header);
        if (header.channel != channels_.heard) continue;
        // The peer may have missed the first packet, and waits in vain if it misses these, too.
        for (int last = 0; last < last_greetings; ++last) transmit(next_, {}, false, false);
        return;
      }
    }
    throw std::runtime_error(
        "no packet arrives from the other process: packets are filtered, or the hosts are not on one link");
  }
  // Vector calls are cheaper than calls with a message header, but do not have a flag for nonblocking operation.
  template <class WithHeader, class Bare>
  ssize_t move(WithHeader with_header, Bare bare, std::array<iovec, 3>& parts, bool may_sleep) const {
    iovec* first = parts.data() + (prefix_.empty() ? 1 : 0);
    const std::size_t count = prefix_.empty() ? 2 : 3;
    if (!sleeps()) return bare(socket_.descriptor(), first, static_cast<int>(count));
    msghdr message{};
    message.msg_iov = first;
    message.msg_iovlen = count;
    return with_header(socket_.descriptor(), &message, may_sleep ? 0 : MSG_DONTWAIT);
  }
  // Copying a short packet into one piece costs less than a system call with several parts (6 % of a ping-pong).
  ssize_t send_in_one(const std::array<iovec, 3>& parts, bool may_sleep) const {
    Packet packet;
    std::size_t bytes = 0;
    for (const iovec& part : parts) {
      if (part.iov_len > 0) std::memcpy(packet.data() + bytes, part.iov_base, part.iov_len);
      bytes += part.iov_len;
    }
    return ::send(socket_.descriptor(), packet.data(), bytes, MSG_NOSIGNAL | (may_sleep ? 0 : MSG_DONTWAIT));
  }
  ssize_t receive_in_one(const std::array<iovec, 3>& parts, bool may_sleep) const {
    Packet packet;
    const ssize_t count = recv(socket_.descriptor(), packet.data(), packet.size(), may_sleep ? 0 : MSG_DONTWAIT);
    const std::byte* from = packet.data();
    auto left = static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    for (const iovec& part : parts) {
      const std::size_t bytes = std::min(left, part.iov_len);
      if (bytes > 0) std::memcpy(part.iov_base, from, bytes);
      from += bytes;
      left -= bytes;
    }
    return count;
  }
  bool transmit(std::uint32_t sequence, std::span<const std::byte> payload, bool gap, bool may_sleep) {
    Header header{channels_.sent, sequence, expected_, static_cast<std::uint16_t>(payload.size()),
                  static_cast<std::uint16_t>(gap ? 1 : 0)};
    std::array<iovec, 3> parts = {iovec{prefix_.data(), prefix_.size()}, iovec{&header, sizeof header},
                                  iovec{const_cast<std::byte*>(payload.data()), payload.size()}};
    const bool brief = payload.size() <= brief_bytes;
    if ((brief ? send_in_one(parts, may_sleep) : move(sendmsg, writev, parts, may_sleep)) < 0) {
      if (!transient(errno)) fail("send");
      return false;
    }
    due_bytes_ = 0;
    return true;
  }
  void acknowledge(bool gap) { transmit(next_, {}, gap, false); }
  void take_acknowledgement(const Header& header) {
    while (before(oldest_, header.acknowledged) && !unacknowledged_.empty()) {
      on_the_way_bytes_ -= cost(unacknowledged_.front().size());
      unacknowledged_.pop_front();
      ++oldest_;
    }
    if (before(current_, oldest_)) current_ = oldest_;
    if (header.gap != 0 && header.acknowledged == oldest_) current_ = oldest_;
  }
  void start_again_when_silent() {
    if (unacknowledged_.empty()) return;
    const auto now = Clock::now();
    if (silent_oldest_ != oldest_ || silent_next_ != next_) {
      silent_oldest_ = oldest_;
      silent_next_ = next_;
      silent_since_ = now;
    } else if (now - silent_since_ > resend_after) {
      current_ = oldest_;
      silent_since_ = now;
    }
    // A pure receiver has no other occasion to retransmit.
    if (current_ != next_) send_some({}, false);
  }

  Socket socket_;
  std::vector<std::byte> prefix_;
  Channels channels_;
  std::size_t largest_payload_;
  double credit_bytes_;  // maximum in flight, including the kernel's bookkeeping; 0: no limit

  std::deque<std::span<const std::byte>> unacknowledged_;
  std::uint32_t oldest_ = 0;  // sequence of the first unacknowledged packet
  double on_the_way_bytes_ = 0;
  std::uint32_t current_ = 0;  // sequence of the next packet to be sent
  std::uint32_t next_ = 0;     // sequence of the next new packet
  double repeated_ = 0;

  std::uint32_t expected_ = 0;  // sequence of the next packet to arrive
  double due_bytes_ = 0;        // arrived since the last acknowledgement
  bool gap_told_ = false;

  unsigned vain_looks_ = 0;
  Clock::time_point silent_since_;
  std::uint32_t silent_oldest_ = 0;
  std::uint32_t silent_next_ = 0;
};

}  // namespace scope
