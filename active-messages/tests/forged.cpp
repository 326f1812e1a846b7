// Frames with valid tags and wrong contents, as anyone with the session key could forge them: random kinds,
// lengths, numbers, regions and bodies, in the name of a peer or of unknown processes. They may disturb the
// claimed connection, but not those of other peers, whose messages must arrive once and in order.
// usage: test-forged [FRAMES [SEED]]
#include <cstdlib>

#include "expect.hpp"
#include "frame.hpp"
#include "station.hpp"

using namespace scope::active_messages;

namespace {

constexpr std::size_t longest_body = 1500;

class Forger {
 public:
  Forger(Medium& medium, const Options& options, Address victim, unsigned seed)
      : medium_(medium), key_(options.session_key), hash_(key_, longest_body), victim_(victim), random_(seed) {}

  void forge(const Address& name) {
    FrameHeader header{};
    const auto kind = static_cast<FrameKind>(below(6));
    header.destination_port = victim_.port;
    header.source_port = name.port;
    header.kind = static_cast<std::uint8_t>(static_cast<unsigned>(kind) | below(4) << 6);
    std::vector<std::byte> body(below(3) == 0 ? below(longest_body) : below(20));
    for (std::byte& each : body) each = static_cast<std::byte>(random_());
    header.body_bytes = static_cast<std::uint16_t>(body.size());
    header.header_bytes = static_cast<std::uint8_t>(below(body.size() + 1) % (Endpoint::header_limit + 1));
    header.sequence = number();
    header.acknowledged = number();
    header.granted = static_cast<std::uint16_t>(random_());
    header.handler = static_cast<std::uint16_t>(below(3));
    PartHeader part{};
    if (kind == FrameKind::put_part)
      part = {below(3), below(4) == 0 ? static_cast<std::uint32_t>(random_()) : below(12'000),
              below(4) == 0 ? static_cast<std::uint32_t>(random_()) : 0};
    std::uint64_t process = name.process;
    if (kind == FrameKind::hello && below(4) == 0) {
      const Introduction who{1'000 + below(50), below(5)};
      body.resize(sizeof who);
      std::memcpy(body.data(), &who, sizeof who);
      header.body_bytes = sizeof who;
      header.header_bytes = 0;
      header.sequence = header.acknowledged = 0;
      process = who.process;
    }
    const std::uint64_t tag =
        Seal(key_, process, victim_.process)
            .tag(header, extended(header.sequence, 0), extended(header.acknowledged, 0), part, hash_(body));
    header.tag_low = static_cast<std::uint32_t>(tag);
    header.tag_high = static_cast<std::uint32_t>(tag >> 32);
    std::vector<std::byte> frame;
    const auto append = [&frame](const void* bytes, std::size_t count) {
      const auto* const from = static_cast<const std::byte*>(bytes);
      frame.insert(frame.end(), from, from + count);
    };
    constexpr std::array<std::uint8_t, 2> type = {ethertype >> 8, ethertype & 0xFF};
    append(victim_.ethernet.data(), victim_.ethernet.size());
    append(name.ethernet.data(), name.ethernet.size());
    append(type.data(), type.size());
    append(&header, sizeof header);
    if (kind == FrameKind::put_part) append(&part, sizeof part);
    append(body.data(), body.size());
    medium_.inject(frame);
  }

 private:
  std::uint32_t below(std::size_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  std::uint32_t number() { return below(8) == 0 ? static_cast<std::uint32_t>(random_()) : below(100); }
  Medium& medium_;
  SessionKey key_;
  BodyHash hash_;
  Address victim_;
  std::mt19937 random_;
};

}  // namespace

int main(int count, char** words) {
  const long frames = count > 1 ? std::atol(words[1]) : 30'000;
  const unsigned seed = count > 2 ? static_cast<unsigned>(std::atol(words[2])) : 1;
  Medium medium({.loss = 0.02, .reordering = 0.02, .together = true}, seed);
  const Options options = test_options(true);
  Station one(medium, 1, options), two(medium, 2, options), three(medium, 3, options);
  one.add(two.address);
  const Peer peer = three.add(two.address);
  two.memory.resize(10'000);
  Forger forger(medium, options, two.address, seed);

  unsigned sent = 0, arrived = 0;
  const auto step = [&] {
    for (Station* station : {&one, &two, &three}) station->poll();
    medium.pass(std::chrono::microseconds(5));
    for (const auto& message : two.received) {
      if (two.addresses[message.source].process != three.address.process) continue;
      const Bytes number(reinterpret_cast<const std::byte*>(&arrived), sizeof arrived);
      expect(std::equal(message.payload.begin(), message.payload.end(), number.begin(), number.end()),
             "message " + std::to_string(arrived) + " in order, once");
      ++arrived;
    }
    two.received.clear();
  };
  for (long forged = 0; forged < frames; ++forged) {
    const Bytes number(reinterpret_cast<const std::byte*>(&sent), sizeof sent);
    if (three.send(peer, 0, number) == Outcome::done) ++sent;
    forger.forge(forged % 3 == 0 ? test_address(4) : one.address);
    step();
  }
  for (int patience = 0; patience < 200'000 && arrived < sent; ++patience) step();
  expect(sent > 1000 && arrived == sent,
         "all arrived: " + std::to_string(arrived) + " of " + std::to_string(sent));
  expect(three.dead.empty(), "the honest peer lives");
  expect(two.statistics().frames_received > static_cast<std::uint64_t>(sent), "forged frames were believed");
  return failures == 0 ? 0 : 1;
}
