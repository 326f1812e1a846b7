// What carries messages between two processes without the message-passing library.
//
// One transport is one file here and one line in the table of transport.cpp. MPI places the processes and
// hands them each other's address; no MPI call stands between `send` and `receive`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transports/partner.hpp"

namespace scope {

// What a case asks of its transport; a transport that has no such thing throws Unavailable.
struct TransportOptions {
  bool sleeps = false;          // wait in the kernel instead of polling
  bool nodelay = true;          // TCP_NODELAY
  int socket_buffer_bytes = 0;  // of each direction; 0: as the system has it
  bool credits = true;          // flow control of datagrams and frames
};

// Where messages of one length arrive, one after the other: `places` lie `stride` bytes apart and are used in turn.
struct Destination {
  std::span<std::byte> first;
  std::ptrdiff_t stride = 0;
  std::int64_t places = 1;
};

class Transport {
 public:
  explicit Transport(bool sleeps) : sleeps_(sleeps) {}
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  // A message stays as it is until the partner has answered to it: what was lost is sent again from there.
  void send(std::span<const std::byte> message);
  void receive(std::span<std::byte> message);
  // Sends one message `sends` times and receives `receives` messages, both at once.
  void exchange(std::span<const std::byte> sent, int sends, const Destination& arrived, int receives);

  // Serves the partner until it has received all. Never timed; both call it.
  virtual void settle(const Partner&) {}
  // Whether `settle` does anything, after which the two are out of step.
  virtual bool settles() const { return false; }

  // Packets sent again since the connection was made.
  virtual double repeated() const { return 0; }
  // What the kernel grants each direction; 0 where there is no such buffer.
  virtual double buffer_bytes() const { return 0; }

 protected:
  // Move what can be moved at once and return how many bytes, 0 when it must wait. With `may_sleep` they wait
  // in the kernel for the first byte.
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

// Collective over the two partners; throws Unavailable on both with the reason.
std::unique_ptr<Transport> connect(const std::string& protocol, const Partner& partner,
                                   const TransportOptions& options);

}  // namespace scope
