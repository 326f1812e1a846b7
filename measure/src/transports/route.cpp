#include "transports/route.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <poll.h>

#include <cerrno>
#include <cstdlib>

namespace scope {
namespace {

constexpr int connect_limit_ms = 2000;
constexpr int most_addresses = 16;

// The interface that was chosen for MPI messages; empty if none was chosen.
std::string chosen_interface() {
  const char* asked = std::getenv("SCOPE_INTERFACE");
  return asked == nullptr ? "" : asked;
}

// IPv4 addresses (network byte order) of this host's interfaces: only the chosen one if it exists, else all real
// ones; then loopback.
struct Addresses {
  int count = 0;
  std::array<in_addr_t, most_addresses> list{};

  void add(in_addr_t address) {
    if (count < most_addresses) list[count++] = address;
  }
};

bool loops_back(in_addr_t address) { return ntohl(address) >> 24 == 127; }

Addresses own_addresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) fail("getifaddrs");
  const std::string chosen = chosen_interface();
  Addresses addresses;
  Addresses others;
  Addresses loopback;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    const in_addr_t address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr.s_addr;
    (loops_back(address) ? loopback : entry->ifa_name == chosen ? addresses : others).add(address);
  }
  freeifaddrs(first);
  if (addresses.count == 0) addresses = others;
  for (int i = 0; i < loopback.count; ++i) addresses.add(loopback.list[i]);
  return addresses;
}

// In order of preference: the loopback first for a server on the same host; otherwise the server's interfaces in
// their order, without the loopback.
Addresses addresses_to_try(const Addresses& servers, bool nearby) {
  Addresses ordered;
  for (int i = 0; i < servers.count; ++i)
    if (loops_back(servers.list[i]) == nearby) ordered.add(servers.list[i]);
  for (int i = 0; nearby && i < servers.count; ++i) ordered.add(servers.list[i]);
  return ordered;
}

sockaddr_in address_of(in_addr_t host, in_port_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = host;
  address.sin_port = port;
  return address;
}

sockaddr_in own_address(const Socket& socket) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  if (getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&address), &length) != 0) fail("getsockname");
  return address;
}

Socket listen_anywhere(int socket_buffer_bytes) {
  Socket listener = open_socket(AF_INET, SOCK_STREAM);
  listener.size_buffers(socket_buffer_bytes);
  const sockaddr_in address = address_of(htonl(INADDR_ANY), 0);
  if (bind(listener.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("bind");
  if (listen(listener.descriptor(), 1) != 0) fail("listen");
  return listener;
}

// Returns a closed socket if the address does not answer in time.
Socket connect_to(in_addr_t host, in_port_t port, int socket_buffer_bytes) {
  Socket connection = open_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK);
  connection.size_buffers(socket_buffer_bytes);
  const sockaddr_in address = address_of(host, port);
  if (connect(connection.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno != EINPROGRESS) return Socket();
    pollfd wait{connection.descriptor(), POLLOUT, 0};
    if (poll(&wait, 1, connect_limit_ms) != 1 || connection.get(SOL_SOCKET, SO_ERROR) != 0) return Socket();
  }
  fcntl(connection.descriptor(), F_SETFL, fcntl(connection.descriptor(), F_GETFL) & ~O_NONBLOCK);
  return connection;
}

struct Server {
  in_port_t port;
  Addresses addresses;
};

Socket connect_to_any(const Server& server, bool nearby, int socket_buffer_bytes) {
  const Addresses addresses = addresses_to_try(server.addresses, nearby);
  for (int i = 0; i < addresses.count; ++i) {
    Socket connection = connect_to(addresses.list[i], server.port, socket_buffer_bytes);
    if (connection.open()) return connection;
  }
  throw std::runtime_error("no address of the other host can be reached by TCP");
}

}  // namespace

Socket call_by_tcp(const Partner& partner, int socket_buffer_bytes) {
  Socket listener;
  const Server server = partner.agree([&] {
    if (!partner.leads) return Server{};
    listener = listen_anywhere(socket_buffer_bytes);
    return Server{own_address(listener).sin_port, own_addresses()};
  });
  Socket connection;
  partner.agree([&] {
    if (!partner.leads) connection = connect_to_any(server, partner.nearby, socket_buffer_bytes);
  });
  // The kernel has already completed the connection; a client that gave up does not keep this side waiting.
  partner.agree([&] {
    if (partner.leads) connection = accept_one(listener);
  });
  return connection;
}

Route route_to(const Partner& partner) {
  const Socket connection = call_by_tcp(partner, 0);
  const sockaddr_in here = own_address(connection);
  return {here, partner.swap(here)};
}

Socket call_by_udp(const Partner& partner, const Route& route, int socket_buffer_bytes) {
  Socket socket;
  const sockaddr_in there = partner.agree([&] {
    socket = open_socket(AF_INET, SOCK_DGRAM);
    socket.size_buffers(socket_buffer_bytes);
    const sockaddr_in address = address_of(route.here.sin_addr.s_addr, 0);
    if (bind(socket.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("bind");
    return own_address(socket);
  });
  partner.agree([&] {
    if (connect(socket.descriptor(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0)
      fail("connect");
  });
  return socket;
}

in_addr_t own_address(bool nearby) {
  const Addresses ordered = addresses_to_try(own_addresses(), nearby);
  if (ordered.count == 0) throw std::runtime_error("this host has no address except its loopback address");
  return ordered.list[0];
}

std::string interface_with(const sockaddr_in& address) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) fail("getifaddrs");
  std::string name;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    const auto* own = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    if (own->sin_addr.s_addr == address.sin_addr.s_addr) name = entry->ifa_name;
  }
  freeifaddrs(first);
  if (name.empty()) throw std::runtime_error("no interface has the address that TCP uses");
  return name;
}

}  // namespace scope
