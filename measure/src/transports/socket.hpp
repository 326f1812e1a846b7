// Sockets: an owner of the descriptor, and streams of bytes through one.
#pragma once

#include <linux/filter.h>
#include <sys/socket.h>

#include "active-messages/src/descriptor.hpp"
#include "transports/transport.hpp"

namespace scope {

[[noreturn]] void fail(const std::string& what);  // throws std::system_error with errno

class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}

  int descriptor() const { return descriptor_.get(); }
  bool open() const { return static_cast<bool>(descriptor_); }
  void set(int level, int option, int value) const;
  int get(int level, int option) const;
  void size_buffers(int bytes) const;  // 0 leaves them to the system
  double buffer_bytes() const;         // what the kernel grants, without its own bookkeeping
  void lose(int per_million) const;    // from now on the kernel drops so many arriving packets; 0: none

  void filter(std::span<sock_filter> program) const;  // from now on the kernel delivers what the program accepts

 private:
  active_messages::Descriptor descriptor_;
};

// Opens a socket; throws std::system_error.
Socket open_socket(int family, int type, int protocol = 0);

// Takes the connection that has been made to a listening socket.
Socket accept_one(const Socket& listener);

// A connected stream socket as a transport: TCP and Unix domain.
class SocketStream : public Transport {
 public:
  SocketStream(Socket connection, const TransportOptions& options)
      : Transport(options.sleeps), connection_(std::move(connection)) {}

  double buffer_bytes() const override { return connection_.buffer_bytes(); }

 protected:
  std::size_t send_some(std::span<const std::byte> rest, bool may_sleep) override;
  std::size_t receive_some(std::span<std::byte> rest, bool may_sleep) override;
  void wait(bool sending, bool receiving) override;
  const Socket& connection() const { return connection_; }
  // From now on every packet carries so many bytes, and none leaves as part of a longer segment.
  void send_single_packets(int bytes) { packet_bytes_ = static_cast<std::size_t>(bytes); }

 private:
  std::size_t packet_bytes_ = 0;  // 0: the kernel cuts segments
  Socket connection_;
};

}  // namespace scope
