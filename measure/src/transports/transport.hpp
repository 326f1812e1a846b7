// Transports between two processes without the MPI library.
//
// Each transport is one file here and one line in the table of transport.cpp. MPI places the processes and
// exchanges their addresses; there are no MPI calls between `send` and `receive`.
#pragma once

#include "transports/partner.hpp"

namespace scope {

// Requirements of a case; a transport that does not support one of them throws Unavailable.
struct TransportOptions {
  bool sleeps = false;             // wait in the kernel instead of polling
  bool nodelay = true;             // TCP_NODELAY
  int socket_buffer_bytes = 0;     // for each direction; 0: the system's default
  bool credits = true;             // flow control of datagrams, frames and active messages
  std::string wire = "automatic";  // for active messages: xdp, packet or automatic
  int lost_per_million = 0;        // arriving packets that the kernel drops, like a bad link
};

// Destination of messages of one length: `places` that are `stride` bytes apart and used round-robin.
struct Destination {
  std::span<std::byte> first;
  std::ptrdiff_t stride = 0;
  std::int64_t places = 1;
};

class Transport : NotCopied {
 public:
  explicit Transport(bool sleeps) : sleeps_(sleeps) {}
  virtual ~Transport() = default;

  // The message must not change until the partner has answered, since losses are retransmitted from its memory.
  void send(std::span<const std::byte> message);
  void receive(std::span<std::byte> message);
  // Sends one message `sends` times and receives `receives` messages, both at once.
  void exchange(std::span<const std::byte> sent, int sends, const Destination& arrived, int receives);

  // Serves the partner until it has received everything. Never timed; both sides call it.
  virtual void settle(const Partner&) {}
  // Whether `settle` does anything; if so, the two sides are out of step afterwards.
  virtual bool settles() const { return false; }

  // Number of packets retransmitted since the connection was made.
  virtual double repeated() const { return 0; }
  // The carrier of the messages, for readers; empty if the protocol determines it.
  virtual std::string way() const { return ""; }
  // Buffer size that the kernel grants in each direction; 0 if there is no such buffer.
  virtual double buffer_bytes() const { return 0; }

 protected:
  friend class FaultyTransport;

  // Move as much as possible at once and return the number of bytes, or 0 if they would block. With
  // `may_sleep`, they wait in the kernel for the first byte.
  virtual std::size_t send_some(std::span<const std::byte> rest, bool may_sleep) = 0;
  virtual std::size_t receive_some(std::span<std::byte> rest, bool may_sleep) = 0;
  // Called if nothing moved.
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
// Names of the transports for readers, in the same order.
std::vector<std::string> transport_words();

// Collective over the two partners; throws Unavailable on both with the reason.
std::unique_ptr<Transport> connect(const std::string& protocol, const Partner& partner,
                                   const TransportOptions& options);

}  // namespace scope
