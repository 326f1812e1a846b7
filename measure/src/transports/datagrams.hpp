// Messages over a medium that may lose packets: numbered, acknowledged, retransmitted from the first one lost.
//
// Go-back-N (Tanenbaum, Computer Networks, section 3.4.2). The receiver accepts packets in order only; at a gap it
// requests the first missing one at once, and a sender without an acknowledgement for 50 ms resumes there too.
// Packets are retransmitted from the message's own memory, so nothing is copied. With credits the sender stops
// when the receiver's socket buffer may be full; without, it keeps sending and pays for the losses.
#pragma once

#include <sys/uio.h>

#include <chrono>
#include <deque>

#include "transports/socket.hpp"

namespace scope {

class Datagrams final : public Transport {
 public:
  struct Header {
    std::uint32_t channel;
    std::uint32_t sequence;
    std::uint32_t acknowledged;  // everything before it has arrived
    std::uint16_t bytes;         // of payload; 0 only acknowledges
    std::uint16_t gap;           // 1: the packet after those was missed
  };
  // Marks of the packets of each direction, which tell ours from others' and from our own that return.
  struct Channels {
    std::uint32_t sent;
    std::uint32_t heard;
  };
  // `prefix` stands before the header of every packet, for example an Ethernet header. Both sides know the
  // same channels and payload size.
  Datagrams(Socket socket, const Partner& partner, const TransportOptions& options, std::vector<std::byte> prefix,
            Channels channels, std::size_t largest_payload);

  void settle(const Partner& partner) override;
  bool settles() const override { return true; }
  double repeated() const override { return repeated_; }
  double buffer_bytes() const override { return socket_.buffer_bytes(); }

 protected:
  std::size_t send_some(std::span<const std::byte> rest, bool may_sleep) override;
  std::size_t receive_some(std::span<std::byte> rest, bool may_sleep) override;
  void wait(bool sending, bool receiving) override;

 private:
  using Clock = std::chrono::steady_clock;

  void hear_each_other(const Partner& partner);
  template <class WithHeader, class Bare>
  ssize_t move(WithHeader with_header, Bare bare, std::array<iovec, 3>& parts, bool may_sleep) const;
  ssize_t send_in_one(const std::array<iovec, 3>& parts, bool may_sleep) const;
  ssize_t receive_in_one(const std::array<iovec, 3>& parts, bool may_sleep) const;
  bool transmit(std::uint32_t sequence, std::span<const std::byte> payload, bool gap, bool may_sleep);
  void acknowledge(bool gap);
  void take_acknowledgement(const Header& header);
  void start_again_when_silent();

  Socket socket_;
  std::vector<std::byte> prefix_;
  Channels channels_;
  std::size_t largest_payload_;
  double credit_bytes_;  // in flight at most, with the kernel's bookkeeping; 0: no limit

  std::deque<std::span<const std::byte>> unacknowledged_;
  std::uint32_t oldest_ = 0;  // sequence of the first of them
  double on_the_way_bytes_ = 0;
  std::uint32_t current_ = 0;  // sequence of the next to leave
  std::uint32_t next_ = 0;     // sequence of the next new one
  double repeated_ = 0;

  std::uint32_t expected_ = 0;  // sequence of the next to arrive
  double due_bytes_ = 0;        // arrived since the last acknowledgement
  bool gap_told_ = false;

  unsigned vain_looks_ = 0;
  Clock::time_point silent_since_;
  std::uint32_t silent_oldest_ = 0;
  std::uint32_t silent_next_ = 0;
};

}  // namespace scope
