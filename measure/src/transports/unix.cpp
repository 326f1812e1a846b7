// Unix domain stream sockets: copies by the kernel between two processes of one host, without a network protocol.
#include <sys/un.h>
#include <unistd.h>

#include "transports/socket.hpp"

namespace scope {
namespace {

struct Address {
  sockaddr_un name;
  socklen_t length;
};

// Linux's abstract namespace, in which the kernel chooses the name and leaves no file behind.
Socket listen_anywhere(const TransportOptions& options) {
  Socket listener = open_socket(AF_UNIX, SOCK_STREAM);
  listener.size_buffers(options.socket_buffer_bytes);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (bind(listener.descriptor(), reinterpret_cast<sockaddr*>(&name), sizeof name.sun_family) != 0) fail("bind");
  if (listen(listener.descriptor(), 1) != 0) fail("listen");
  return listener;
}

Address address_of(const Socket& listener) {
  Address address{};
  address.length = sizeof address.name;
  if (getsockname(listener.descriptor(), reinterpret_cast<sockaddr*>(&address.name), &address.length) != 0)
    fail("getsockname");
  return address;
}

Socket connect_to(const Address& server, const TransportOptions& options) {
  Socket connection = open_socket(AF_UNIX, SOCK_STREAM);
  connection.size_buffers(options.socket_buffer_bytes);
  if (connect(connection.descriptor(), reinterpret_cast<const sockaddr*>(&server.name), server.length) != 0)
    fail("connect");
  return connection;
}

}  // namespace

std::unique_ptr<Transport> connect_unix(const Partner& partner, const TransportOptions& options) {
  need_one_host(partner, "unix");
  Socket listener;
  Socket connection;
  const Address server = partner.agree([&] {
    if (!partner.leads) return Address{};
    listener = listen_anywhere(options);
    return address_of(listener);
  });
  partner.agree([&] {
    if (!partner.leads) connection = connect_to(server, options);
  });
  partner.agree([&] {
    if (partner.leads) connection = accept_one(listener);
  });
  // Only SO_SNDBUF matters for Unix sockets, and an accepted socket does not inherit it.
  connection.size_buffers(options.socket_buffer_bytes);
  return std::make_unique<SocketStream>(std::move(connection), options);
}

}  // namespace scope
