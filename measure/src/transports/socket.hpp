// Sockets: an owner of the descriptor, and byte streams through a socket.
#pragma once

#include <linux/filter.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "active-messages/src/descriptor.hpp"
#include "transports/transport.hpp"

namespace scope {

constexpr int accept_limit_ms = 2000;

// Throws std::system_error with errno.
[[noreturn]] inline void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

inline std::size_t moved(ssize_t count, const char* what) {
  if (count >= 0) return static_cast<std::size_t>(count);
  if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) fail(what);
  return 0;
}

class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}

  int descriptor() const { return descriptor_.get(); }
  bool open() const { return static_cast<bool>(descriptor_); }
  void set(int level, int option, int value) const {
    if (setsockopt(descriptor(), level, option, &value, sizeof value) != 0) fail("setsockopt");
  }
  int get(int level, int option) const {
    int value = 0;
    socklen_t length = sizeof value;
    if (getsockopt(descriptor(), level, option, &value, &length) != 0) fail("getsockopt");
    return value;
  }
  // 0 leaves the sizes to the system.
  void size_buffers(int bytes) const {
    if (bytes == 0) return;
    set(SOL_SOCKET, SO_SNDBUF, bytes);
    set(SOL_SOCKET, SO_RCVBUF, bytes);
  }
  // The size that the kernel grants, without its own bookkeeping.
  double buffer_bytes() const {
    return get(SOL_SOCKET, SO_RCVBUF) / 2.0;  // Linux doubles the requested size for its bookkeeping: socket(7)
  }
  // Makes the kernel drop `per_million` of a million arriving packets from now on; 0: none.
  void lose(int per_million) const {
    if (per_million == 0) return;
    const auto lost = static_cast<std::uint32_t>(per_million * 1e-6 * 0xFFFFFFFF);
    std::array program = {
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(SKF_AD_OFF + SKF_AD_RANDOM)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, lost, 0, 1),
        sock_filter BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
        sock_filter BPF_STMT(BPF_RET | BPF_K, 0),
    };
    filter(program);
  }

  // Makes the kernel deliver only data that the program accepts from now on.
  void filter(std::span<sock_filter> program) const {
    const sock_fprog whole{static_cast<unsigned short>(program.size()), program.data()};
    if (setsockopt(descriptor(), SOL_SOCKET, SO_ATTACH_FILTER, &whole, sizeof whole) != 0)
      fail("SO_ATTACH_FILTER");
  }

 private:
  active_messages::Descriptor descriptor_;
};

// Opens a socket; throws std::system_error.
inline Socket open_socket(int family, int type, int protocol = 0) {
  Socket made(socket(family, type | SOCK_CLOEXEC, protocol));
  if (!made.open()) fail("socket");
  return made;
}

// Accepts the connection that was made to a listening socket.
inline Socket accept_one(const Socket& listener) {
  pollfd ready{listener.descriptor(), POLLIN, 0};
  if (poll(&ready, 1, accept_limit_ms) != 1) throw std::runtime_error("accept: no connection in time");
  Socket accepted(accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!accepted.open()) fail("accept");
  return accepted;
}

// A connected stream socket (TCP or Unix domain) as a transport.
class SocketStream : public Transport {
 public:
  SocketStream(Socket connection, const TransportOptions& options)
      : Transport(options.sleeps), connection_(std::move(connection)) {}

  double buffer_bytes() const override { return connection_.buffer_bytes(); }

 protected:
  std::size_t send_some(std::span<const std::byte> rest, bool may_sleep) override {
    const int single = packet_bytes_ > 0 ? MSG_EOR : 0;
    const int flags = MSG_NOSIGNAL | single | (may_sleep ? 0 : MSG_DONTWAIT);
    if (single != 0) rest = rest.first(std::min(rest.size(), packet_bytes_));
    return moved(::send(connection_.descriptor(), rest.data(), rest.size(), flags), "send");
  }
  std::size_t receive_some(std::span<std::byte> rest, bool may_sleep) override {
    const ssize_t count = recv(connection_.descriptor(), rest.data(), rest.size(), may_sleep ? 0 : MSG_DONTWAIT);
    if (count == 0) throw std::runtime_error("receive: the other process closed the connection");
    return moved(count, "receive");
  }
  void wait(bool sending, bool receiving) override {
    if (!sleeps()) return Transport::wait(sending, receiving);
    pollfd ready{connection_.descriptor(), static_cast<short>((sending ? POLLOUT : 0) | (receiving ? POLLIN : 0)),
                 0};
    poll(&ready, 1, -1);
  }
  const Socket& connection() const { return connection_; }
  // From now on, every packet carries this many bytes, and none is sent as part of a longer segment.
  void send_single_packets(int bytes) { packet_bytes_ = static_cast<std::size_t>(bytes); }

 private:
  std::size_t packet_bytes_ = 0;  // 0: the kernel cuts segments
  Socket connection_;
};

}  // namespace scope
