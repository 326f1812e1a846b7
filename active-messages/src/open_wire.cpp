#include "wire.hpp"

namespace scope::active_messages {
namespace {

// AF_PACKET where AF_XDP was not possible or would be dishonest: its name says why.
class SecondChoice final : public EthernetWire {
 public:
  SecondChoice(std::unique_ptr<EthernetWire> wire, std::string reason)
      : wire_(std::move(wire)), reason_(std::move(reason)) {}
  std::string name() const override { return wire_->name() + " (" + reason_ + ")"; }
  std::size_t longest_frame() const override { return wire_->longest_frame(); }
  std::size_t receive_slots() const override { return wire_->receive_slots(); }
  bool send(Bytes head, Bytes body) override { return wire_->send(head, body); }
  void flush() override { wire_->flush(); }
  Bytes receive() override { return wire_->receive(); }
  int descriptor() const override { return wire_->descriptor(); }

 private:
  std::unique_ptr<EthernetWire> wire_;
  std::string reason_;
};

}  // namespace

std::unique_ptr<EthernetWire> open_wire(Wire asked, const Interface& interface, std::uint16_t port) {
  if (asked == Wire::packet) return packet_wire(interface, port);
  if (asked == Wire::xdp) return xdp_wire(interface, port);
  if (const std::string discipline = shaping(interface); !discipline.empty())
    return std::make_unique<SecondChoice>(packet_wire(interface, port),
                                          "AF_XDP would go past the queue discipline " + discipline);
  try {
    return xdp_wire(interface, port);
  } catch (const Error& error) {
    return std::make_unique<SecondChoice>(packet_wire(interface, port), error.what());
  }
}

}  // namespace scope::active_messages
