// One end of the protocol in a test: a channel, and a sink that records all events.
#pragma once

#include <string>
#include <vector>

#include "impaired_wire.hpp"
#include "wire_channel.hpp"

namespace scope::active_messages {

inline Options test_options(bool flow_control) {
  Options options;
  options.flow_control = flow_control;
  options.session_key.fill(std::byte{42});
  options.peer_timeout = std::chrono::milliseconds(2000);
  return options;
}

inline Address test_address(unsigned number) {
  Address address;
  address.ethernet = {std::byte{2}, std::byte{0}, std::byte{0},
                      std::byte{0}, std::byte{0}, static_cast<std::byte>(number)};
  address.port = static_cast<std::uint16_t>(100 + number);
  address.host = number;
  address.process = 1'000'003 * number;
  return address;
}

// Not copyable, because completions have its address.
class Station final : public Sink {
 public:
  Station(Medium& medium, unsigned number, const Options& options)
      : medium_(medium),
        address(test_address(number)),
        channel(std::make_unique<WireChannel>(medium.plug_in(address.ethernet), options, address)) {}

  Peer add(const Address& other) {
    channel->add(static_cast<Peer>(addresses.size()), other);
    addresses.push_back(other);
    return static_cast<Peer>(addresses.size() - 1);
  }
  int poll() { return channel->poll(medium_.now(), *this); }
  Outcome send(Peer peer, Handler handler, Bytes payload, Kind kind = Kind::request) {
    return channel->send(medium_.now(), peer, kind, {handler, {}, payload});
  }
  Outcome put(Peer peer, Region region, std::size_t offset, Bytes source, Handler handler) {
    const auto count = [](void* self, Outcome outcome) {
      static_cast<Station*>(self)->outcomes.push_back(outcome);
    };
    return channel->put(medium_.now(), peer, {region, offset, source, {handler, {}, {}}, count, this});
  }
  Statistics statistics() const {
    Statistics all{};
    channel->add_to(all);
    return all;
  }

  void deliver(Peer source, const Message& message) override {
    received.push_back({source, message.handler, {message.payload.begin(), message.payload.end()}});
    if (answer) send(source, message.handler, message.payload, Kind::reply);
  }
  std::byte* target(Region region, std::size_t offset, std::size_t bytes) override {
    if (region != 1 || offset > memory.size() || bytes > memory.size() - offset) return nullptr;
    return memory.data() + offset;
  }
  bool open(Peer) const override { return opened; }
  std::optional<Peer> admit(const Address& other) override { return add(other); }
  void died(Peer peer, bool, std::string) override { dead.push_back(peer); }

 private:
  Medium& medium_;

 public:
  struct Received {
    Peer source;
    Handler handler;
    std::vector<std::byte> payload;
  };
  Address address;
  std::unique_ptr<WireChannel> channel;
  std::vector<Address> addresses;
  std::vector<std::byte> memory;  // region 1
  std::vector<Received> received;
  std::vector<Outcome> outcomes;
  std::vector<Peer> dead;
  bool opened = true, answer = false;
};

inline std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> made(bytes);
  for (std::byte& each : made) each = static_cast<std::byte>(random());
  return made;
}

}  // namespace scope::active_messages
