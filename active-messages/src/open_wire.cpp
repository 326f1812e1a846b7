#include "wire.hpp"

namespace scope::active_messages {

std::unique_ptr<EthernetWire> open_wire(Wire asked, const Interface& interface, std::uint16_t port) {
  if (asked == Wire::packet) return packet_wire(interface, port);
  if (asked == Wire::xdp) return xdp_wire(interface, port);
  // A shaped link stays as slow as it was made.
  if (const std::string discipline = shaping(interface); !discipline.empty())
    return packet_wire(interface, port, "AF_XDP would go past the queue discipline " + discipline);
  try {
    return xdp_wire(interface, port);
  } catch (const Error& error) {
    return packet_wire(interface, port, error.what());
  }
}

}  // namespace scope::active_messages
