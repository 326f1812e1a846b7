// Raw Ethernet frames through a packet socket: the wire without IP, on the interface that TCP would use.
//
// IEEE 802 reserves ethertype 0x88B5 for experiments. Needs CAP_NET_RAW. Within a host, frames use the loopback
// interface.
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include "active-messages/src/capabilities.hpp"
#include "transports/datagrams.hpp"
#include "transports/route.hpp"

namespace scope {
namespace {

constexpr std::uint16_t ethertype = 0x88B5;
using Mac = std::array<std::uint8_t, ETH_ALEN>;

struct Interface {
  Mac address{};
  int index = 0;
  int mtu = 0;
};

Interface interface_of(const Socket& socket, const sockaddr_in& address) {
  Interface found;
  ifreq request{};
  std::strncpy(request.ifr_name, interface_with(address).c_str(), IFNAMSIZ - 1);
  const auto ask = [&](unsigned long what) {
    if (ioctl(socket.descriptor(), what, &request) != 0) fail("ioctl on an interface");
  };
  ask(SIOCGIFHWADDR);
  std::memcpy(found.address.data(), request.ifr_hwaddr.sa_data, ETH_ALEN);
  ask(SIOCGIFMTU);
  found.mtu = request.ifr_mtu;
  ask(SIOCGIFINDEX);
  found.index = request.ifr_ifindex;
  return found;
}

// Accepts only frames whose header begins with this channel, so that other frames of this ethertype, and our own
// frames returned by the loopback, are not copied.
void hear_only(const Socket& socket, std::uint32_t channel) {
  std::array<sock_filter, 4> program = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ETH_HLEN),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(channel), 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
      sock_filter BPF_STMT(BPF_RET | BPF_K, 0),
  };
  socket.filter(program);
}

}  // namespace

std::unique_ptr<Transport> connect_ethernet(const Partner& partner, const TransportOptions& options) {
  Socket socket;
  partner.agree([&] {
    socket = Socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
    if (!socket.open()) active_messages::refuse("protocol=ethernet: AF_PACKET", {"cap_net_raw"});
  });
  const Route route = route_to(partner);
  Interface own;
  const Interface other = partner.agree([&] {
    own = interface_of(socket, route.here);
    return own;
  });
  // The port of the connection that found the route identifies this pair, the top bit the direction.
  const std::uint32_t port = partner.leads ? route.here.sin_port : route.there.sin_port;
  const std::uint32_t leader = 0x80000000u | port;
  const std::uint32_t follower = port;
  const std::uint32_t heard = partner.leads ? follower : leader;
  partner.agree([&] {
    hear_only(socket, heard);
    socket.size_buffers(options.socket_buffer_bytes);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ethertype);
    address.sll_ifindex = own.index;
    if (bind(socket.descriptor(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("bind");
  });
  std::vector<std::byte> prefix(ETH_HLEN);
  std::memcpy(prefix.data(), other.address.data(), ETH_ALEN);
  std::memcpy(prefix.data() + ETH_ALEN, own.address.data(), ETH_ALEN);
  const std::uint16_t type = htons(ethertype);
  std::memcpy(prefix.data() + 2 * ETH_ALEN, &type, sizeof type);
  const std::size_t payload =
      std::min({own.mtu, other.mtu, int{UINT16_MAX} - ETH_HLEN}) - sizeof(Datagrams::Header);
  return std::make_unique<Datagrams>(std::move(socket), partner, options, std::move(prefix),
                                     Datagrams::Channels{heard == follower ? leader : follower, heard}, payload);
}

}  // namespace scope
