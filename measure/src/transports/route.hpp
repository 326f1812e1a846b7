// The IP route between two hosts, found by one TCP connection.
#pragma once

#include <netinet/in.h>

#include "transports/partner.hpp"
#include "transports/socket.hpp"

namespace scope {

// Both ends of a TCP connection to the partner: its own host's loopback, or the first interface that answers.
// Buffer sizes are set before connecting, because the window scale is negotiated then.
Socket call_by_tcp(const Partner& partner, int socket_buffer_bytes);

struct Route {
  sockaddr_in here;
  sockaddr_in there;
};

// The addresses that a TCP connection to the partner uses.
Route route_to(const Partner& partner);

// A socket for datagrams from and to the partner's along this route. Both sides learn of a problem on either.
Socket call_by_udp(const Partner& partner, const Route& route, int socket_buffer_bytes);

// This host's address: the loopback if `nearby`, otherwise that of the chosen interface or the first real one.
in_addr_t own_address(bool nearby);

// The name of the interface of this host that has the address.
std::string interface_with(const sockaddr_in& address);

}  // namespace scope
