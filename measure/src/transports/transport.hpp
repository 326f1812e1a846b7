// Transports between two processes without the MPI library.
//
// One transport is one file here and one line in the table of transport.cpp. MPI places the processes and
// exchanges their addresses; no MPI call lies between `send` and `receive`.
#pragma once

#include "transports/partner.hpp"

namespace scope {

// Requirements of a case; a transport that does not support one throws Unavailable.
struct TransportOptions {
  bool sleeps = false;             // wait in the kernel instead of polling
  bool nodelay = true;             // TCP_NODELAY
  int socket_buffer_bytes = 0;     // of each direction; 0: the system's default
  bool credits = true;             // flow control of datagrams, frames and active messages
  std::string wire = "automatic";  // of active messages: xdp, packet or automatic
  int lost_per_million = 0;        // arriving packets that the kernel drops, as a bad link would
};

// Where messages of one length arrive, one after the other: `places` lie `stride` bytes apart and are used in turn.
struct Destination {
  std::span<std::byte> first;
  std::ptrdiff_t stride = 0;
  std::int64_t places = 1;
};

class Transport : NotCopied {
 public:
  explicit Transport(bool sleeps) : sleeps_(sleeps) {}
  virtual ~Transport() = default;

  // A message stays unchanged until the partner has answered it: losses are retransmitted from its memory.
  void send(std::span<const std::byte> message);
  void receive(std::span<std::byte> message);
  // Sends one message `sends` times and receives `receives` messages, both at once.
  void exchange(std::span<const std::byte> sent, int sends, const Destination& arrived, int receives);

  // Serves the partner until it has received everything. Never timed; both sides call it.
  virtual void settle(const Partner&) {}
  // Whether `settle` does anything; if so, the two sides are out of step afterwards.
  virtual bool settles() const { return false; }

  // Packets retransmitted since the connection was made.
  virtual double repeated() const { return 0; }
  // What carries the messages, for people; empty where the protocol says that.
  virtual std::string way() const { return ""; }
  // Buffer size that the kernel grants each direction; 0 where there is no such buffer.
  virtual double buffer_bytes() const { return 0; }

 protected:
  friend class FaultyTransport;

  // Move as much as possible at once and return the number of bytes, 0 when they would block. With
  // `may_sleep` they wait in the kernel for the first byte.
  virtual std::size_t send_some(std::span<const std::byte> rest, bool may_sleep) = 0;
  virtual std::size_t receive_some(std::span<std::byte> rest, bool may_sleep) = 0;
  // Called when nothing moved.
  virtual void wait(bool sending, bool receiving);
  bool sleeps() const { return sleeps_; }

 private:
  template <class Bytes>
  void moves(Bytes& rest, std::size_t bytes) {
    rest = rest.subspan(bytes);
    vain_looks_ = 0;
  }

  bool sleeps_;
  int vain_looks_ = 0;
};

std::vector<std::string> transport_names();
// Their names for people, in the same order.
std::vector<std::string> transport_words();

// Collective over the two partners; throws Unavailable on both with the reason.
std::unique_ptr<Transport> connect(const std::string& protocol, const Partner& partner,
                                   const TransportOptions& options);

}  // namespace scope
