// UDP over IPv4: a message is split into datagrams of the path's MTU, with the loss handling of datagrams.hpp.
#include <netinet/in.h>

#include "transports/datagrams.hpp"
#include "transports/route.hpp"

namespace scope {
namespace {

constexpr int ip_and_udp_bytes = 20 + 8;
constexpr int largest_packet = 65535;

}  // namespace

std::unique_ptr<Transport> connect_udp(const Partner& partner, const TransportOptions& options) {
  const Route route = route_to(partner);
  Socket socket = call_by_udp(partner, route, options.socket_buffer_bytes);
  const int other_mtu = partner.agree([&] { return socket.get(IPPROTO_IP, IP_MTU); });
  const int packet = std::min({socket.get(IPPROTO_IP, IP_MTU), other_mtu, largest_packet});
  const std::size_t payload = packet - ip_and_udp_bytes - sizeof(Datagrams::Header);
  socket.lose(options.lost_per_million);
  const std::uint32_t channel = partner.leads ? route.here.sin_port : route.there.sin_port;
  return std::make_unique<Datagrams>(std::move(socket), partner, options, std::vector<std::byte>(),
                                     Datagrams::Channels{channel, channel}, payload);
}

}  // namespace scope
