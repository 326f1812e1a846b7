// Hostile frames among valid ones: random bytes; recorded frames that are repeated, truncated, extended, damaged
// or given other lengths; frames of another session. Exactly the valid messages must arrive, once and in order.
// usage: test-frames [FRAMES [SEED]]
#include <cstdlib>

#include "expect.hpp"
#include "station.hpp"

using namespace scope::active_messages;

namespace {

using Frame = std::vector<std::byte>;

class Attacker {
 public:
  Attacker(Medium& medium, unsigned seed) : medium_(medium), random_(seed) {}

  void attack() {
    Frame frame =
        medium_.recorded.empty() || below(8) == 0 ? noise() : medium_.recorded[below(medium_.recorded.size())];
    switch (below(6)) {
      case 0: break;  // repeated unchanged
      case 1: frame.resize(below(frame.size() + 1)); break;
      case 2: frame.resize(frame.size() + below(2000), static_cast<std::byte>(below(256))); break;
      case 3:
        for (std::size_t flips = 1 + below(4); flips > 0 && !frame.empty(); --flips)
          frame[below(frame.size())] ^= static_cast<std::byte>(1 + below(255));
        break;
      case 4:  // a new value in one field of the header
        if (frame.size() >= head_bytes)
          for (std::size_t at = ethernet_bytes + below(sizeof(FrameHeader)), bytes = 1 + below(4);
               bytes > 0 && at < head_bytes; ++at, --bytes)
            frame[at] = static_cast<std::byte>(below(256));
        break;
      default: {  // parts of two frames combined
        const Frame& other = medium_.recorded.empty() ? frame : medium_.recorded[below(medium_.recorded.size())];
        for (std::size_t at = below(frame.size() + 1); at < std::min(frame.size(), other.size()); ++at)
          frame[at] = other[at];
      }
    }
    medium_.inject(frame);
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }
  Frame noise() {
    Frame frame(below(1600));
    for (std::byte& each : frame) each = static_cast<std::byte>(random_());
    // Half of the random frames look like ours.
    if (below(2) == 0 && frame.size() >= head_bytes) {
      FrameHeader header{};
      header.destination_port = 101 + static_cast<std::uint16_t>(below(2));
      header.source_port = 101 + static_cast<std::uint16_t>(below(3));
      header.kind = static_cast<std::uint8_t>(below(8) | below(2) * prompt | below(2) * takes_segments);
      header.body_bytes = static_cast<std::uint16_t>(below(frame.size()));
      std::memcpy(frame.data() + ethernet_bytes, &header, sizeof header);
    }
    return frame;
  }
  Medium& medium_;
  std::mt19937 random_;
};

}  // namespace

int main(int count, char** words) {
  const long frames = count > 1 ? std::atol(words[1]) : 30'000;
  const unsigned seed = count > 2 ? static_cast<unsigned>(std::atol(words[2])) : 1;
  Medium medium({.loss = 0.02, .reordering = 0.02, .together = true}, seed);
  Options other_session = test_options(true);
  other_session.session_key.fill(std::byte{43});
  Station one(medium, 1, test_options(true)), two(medium, 2, test_options(true)),
      stranger(medium, 3, other_session);
  const Peer peer = one.add(two.address), target = stranger.add(two.address);
  two.answer = true;
  two.memory.resize(10'000);
  const std::vector<std::byte> source = pattern(5000, seed);
  Attacker attacker(medium, seed);
  medium.record = true;

  unsigned sent = 0, answered = 0, arrived = 0;
  long attacks = 0;
  const auto check = [&] {
    for (Station* station : {&one, &two}) {
      unsigned& expected = station == &one ? answered : arrived;
      for (const auto& message : station->received) {
        if (message.handler != 0) continue;
        const Bytes number(reinterpret_cast<const std::byte*>(&expected), sizeof expected);
        expect(std::equal(message.payload.begin(), message.payload.end(), number.begin(), number.end()),
               "message " + std::to_string(expected) + " in order, once");
        ++expected;
      }
      station->received.clear();
    }
  };
  const auto step = [&] {
    for (Station* station : {&one, &two, &stranger}) station->poll();
    medium.pass(std::chrono::microseconds(5));
  };
  while (attacks < frames) {
    const Bytes number(reinterpret_cast<const std::byte*>(&sent), sizeof sent);
    if (one.send(peer, 0, number) == Outcome::done) ++sent;
    if (sent % 100 == 1) one.put(peer, 1, 1000, source, 1);
    if (sent % 50 == 0) stranger.send(target, 0, number);
    // Recent frames are the most dangerous.
    if (medium.recorded.size() > 400)
      medium.recorded.erase(medium.recorded.begin(), medium.recorded.begin() + 200);
    for (int burst = 0; burst < 10 && attacks < frames; ++burst, ++attacks) attacker.attack();
    step();
    check();
  }
  medium.record = false;
  for (int patience = 0; patience < 200'000 && (arrived < sent || answered < sent || !one.channel->idle());
       ++patience) {
    step();
    check();
  }
  expect(arrived == sent && answered == sent, "all arrived: " + std::to_string(arrived) + " and " +
                                                  std::to_string(answered) + " of " + std::to_string(sent));
  expect(std::equal(source.begin(), source.end(), two.memory.begin() + 1000), "the bytes of the puts");
  const std::vector<std::byte> untouched(1000);
  expect(std::equal(untouched.begin(), untouched.end(), two.memory.begin()), "no byte before the puts");
  expect(one.dead.empty() && two.dead.empty(), "nobody died");
  expect(two.addresses.size() == 1 && one.addresses.size() == 1, "no stranger was let in");
  const Statistics statistics = two.statistics();
  expect(statistics.foreign > 0 && statistics.corrupt > 0 && statistics.duplicates > 0, "attacks are counted");
  std::printf("%ld hostile frames among %u messages: foreign %llu, corrupt %llu, duplicates %llu\n", attacks, sent,
              static_cast<unsigned long long>(statistics.foreign),
              static_cast<unsigned long long>(statistics.corrupt),
              static_cast<unsigned long long>(statistics.duplicates));
  return failures == 0 ? 0 : 1;
}
