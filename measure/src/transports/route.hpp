// The IP route between two hosts, found by one TCP connection.
#pragma once

#include <netinet/in.h>

#include "transports/partner.hpp"
#include "transports/socket.hpp"

namespace scope {

// Both ends of a TCP connection to the partner, via the loopback on the same host or the first interface that
// answers. Buffer sizes are set before connecting, when the window scale is negotiated.
Socket call_by_tcp(const Partner& partner, int socket_buffer_bytes);

struct Route {
  sockaddr_in here;
  sockaddr_in there;
};

// The addresses that a TCP connection to the partner uses.
Route route_to(const Partner& partner);

// A datagram socket to and from the partner's along this route. Both sides learn of a problem on either side.
Socket call_by_udp(const Partner& partner, const Route& route, int socket_buffer_bytes);

// This host's address: loopback if `nearby`, otherwise the address of the chosen or the first real interface.
in_addr_t own_address(bool nearby);

// The name of this host's interface that has the address.
std::string interface_with(const sockaddr_in& address);

}  // namespace scope
