// AF_PACKET between the ends of a veth pair in a separate network namespace: which process gets which frames,
// single and together. Needs root.
#include <sched.h>

#include <cstring>
#include <string>
#include <vector>

#include "expect.hpp"
#include "interface.hpp"
#include "wire.hpp"

using namespace scope::active_messages;

namespace {

constexpr std::size_t body_bytes = 1000;

std::vector<std::byte> head_to(const Ethernet& destination, const Ethernet& source, std::uint16_t port) {
  FrameHeader header{};
  header.destination_port = port;
  header.kind = static_cast<std::uint8_t>(FrameKind::request);
  header.body_bytes = body_bytes;
  std::vector<std::byte> head(head_bytes);
  std::memcpy(head.data(), destination.data(), destination.size());
  std::memcpy(head.data() + destination.size(), source.data(), source.size());
  head[12] = std::byte{ethertype >> 8};
  head[13] = std::byte{ethertype & 0xFF};
  std::memcpy(head.data() + ethernet_bytes, &header, sizeof header);
  return head;
}

// The ports of all frames that have arrived; each frame must be complete and have the expected body.
std::vector<std::uint16_t> ports_at(EthernetWire& wire, const std::vector<std::byte>& body) {
  std::vector<std::uint16_t> ports;
  for (Bytes frame; !(frame = wire.receive()).empty();) {
    FrameHeader header;
    EXPECT(frame.size() >= head_bytes + body_bytes);
    std::memcpy(&header, frame.data() + ethernet_bytes, sizeof header);
    expect(std::memcmp(frame.data() + head_bytes, body.data(), body_bytes) == 0, "the body of a frame");
    ports.push_back(header.destination_port);
  }
  return ports;
}

}  // namespace

int main() {
  if (::unshare(CLONE_NEWNET) != 0) {
    std::printf("needs root: not run\n");
    return 0;
  }
  const char* const links =
      "ip link add eth0 type veth peer name eth1 && ip link set eth0 up && ip link set eth1 up";
  EXPECT(std::system(links) == 0);
  const Interface here = interface_named("eth0"), there = interface_named("eth1");
  const auto sender = packet_wire(here, 1);
  const auto first = packet_wire(there, 2), second = packet_wire(there, 3);
  std::vector<std::byte> body(body_bytes);
  for (std::size_t index = 0; index < body_bytes; ++index) body[index] = static_cast<std::byte>(index * 7);
  for (const bool together : {false, true}) {
    // In the order of a poll: the frames for one process after those for another.
    for (const std::uint16_t port : {2, 3, 2})
      for (int count = 0; count < 10; ++count)
        EXPECT(sender->send(head_to(there.address, here.address, port), body, together));
    sender->flush();
    const std::string which = together ? " together" : " alone";
    expect(ports_at(*first, body) == std::vector<std::uint16_t>(20, 2), "frames of the first process" + which);
    expect(ports_at(*second, body) == std::vector<std::uint16_t>(10, 3), "frames of the second process" + which);
  }
  return failures == 0 ? 0 : 1;
}
