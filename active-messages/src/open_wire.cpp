#include "wire.hpp"

namespace scope::active_messages {

std::unique_ptr<EthernetWire> open_wire(Wire asked, const Interface& interface, std::uint16_t port, double loss) {
  if (asked == Wire::packet || (asked == Wire::automatic && loss > 0)) return packet_wire(interface, port, loss);
  if (loss > 0) throw Error("Options::loss: AF_XDP cannot lose frames on purpose; the wire must be AF_PACKET");
  if (asked == Wire::xdp) return xdp_wire(interface, port);
  // AF_PACKET respects the queue discipline of a shaped link.
  if (const std::string discipline = shaping(interface); !discipline.empty())
    return packet_wire(interface, port, 0, "AF_XDP would bypass the queue discipline " + discipline);
  try {
    return xdp_wire(interface, port);
  } catch (const Error& error) {
    return packet_wire(interface, port, 0, error.what());
  }
}

}  // namespace scope::active_messages
