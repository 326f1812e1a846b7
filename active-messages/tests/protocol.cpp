// The reliable protocol on wires that lose, repeat, reorder and damage frames: all messages arrive once, in order,
// all puts completely; silence, farewells and blocked receivers have the effects documented in endpoint.hpp.
#include "expect.hpp"
#include "station.hpp"

using namespace scope::active_messages;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

constexpr auto tick = microseconds(5);

Bytes bytes_of(const unsigned& number) { return {reinterpret_cast<const std::byte*>(&number), sizeof number}; }

unsigned number_in(const std::vector<std::byte>& payload) {
  unsigned number = 0;
  std::memcpy(&number, payload.data(), std::min(sizeof number, payload.size()));
  return number;
}

// Both sides send numbered messages; one answers, one puts.
void exchange(const std::string& name, const Impairment& impairment, bool flow_control, unsigned seed) {
  constexpr unsigned messages = 1500, puts = 5;
  Medium medium(impairment, seed);
  Station one(medium, 1, test_options(flow_control)), two(medium, 2, test_options(flow_control));
  const Peer to_two = one.add(two.address);
  two.answer = true;
  two.memory.resize(100'000);
  const std::vector<std::byte> source = pattern(90'001, seed);
  std::vector<std::byte> long_message = pattern(one.channel->message_limit(), seed + 1);

  unsigned sent = 0, put = 0;
  for (int step = 0; step < 400'000 && one.received.size() < messages + puts; ++step) {
    if (sent < messages) {
      std::memcpy(long_message.data(), &sent, sizeof sent);
      const std::size_t length = sent % 7 == 0 ? long_message.size() : sizeof sent;
      sent += one.send(to_two, 0, Bytes(long_message).first(length)) == Outcome::done;
    }
    if (put < puts && sent > put * messages / puts) put += one.put(to_two, 1, 777, source, 1) == Outcome::done;
    one.poll();
    two.poll();
    medium.pass(tick);
  }
  for (int step = 0; step < 400'000 && (one.outcomes.size() < puts || !one.channel->idle()); ++step) {
    one.poll();
    two.poll();
    medium.pass(tick);
  }

  unsigned expected = 0, ends = 0;
  for (const auto& message : two.received) {
    if (message.handler == 1) {
      ++ends;
      continue;
    }
    expect(number_in(message.payload) == expected, name + ": message " + std::to_string(expected) + " in order");
    const std::size_t length = expected % 7 == 0 ? long_message.size() : sizeof expected;
    expect(message.payload.size() == length, name + ": the length of message " + std::to_string(expected));
    expect(std::equal(message.payload.begin() + sizeof expected, message.payload.end(),
                      long_message.begin() + sizeof expected),
           name + ": the bytes of message " + std::to_string(expected));
    ++expected;
  }
  expect(expected == messages, name + ": every message arrived once, not " + std::to_string(expected));
  expect(ends == puts && one.outcomes == std::vector<Outcome>(puts, Outcome::done), name + ": every put ended");
  expect(std::equal(source.begin(), source.end(), two.memory.begin() + 777), name + ": the bytes of the puts");
  unsigned answers = 0;
  for (const auto& message : one.received)
    if (message.handler == 0) expect(number_in(message.payload) == answers++, name + ": answers in order");
  expect(answers == messages, name + ": every answer arrived once, not " + std::to_string(answers));

  const Statistics first = one.statistics(), second = two.statistics();
  expect(one.dead.empty() && two.dead.empty(), name + ": nobody died");
  if (impairment.loss + impairment.corruption > 0) {
    expect(first.retransmissions > 0 && second.retransmissions > 0, name + ": lost frames are repeated");
  } else if (impairment.reordering + impairment.duplication == 0) {
    const auto all = first.retransmissions + second.retransmissions + first.duplicates + second.duplicates;
    expect(flow_control ? all == 0 : true, name + ": on a good wire nothing is repeated");
  }
  if (impairment.corruption > 0) expect(first.corrupt + second.corrupt > 0, name + ": damage is counted");
  if (impairment.duplication > 0) expect(second.duplicates > 0, name + ": duplicates are counted");
  if (impairment.reordering > 0) expect(second.out_of_order > 0, name + ": reordering is counted");
}

// A burst larger than the receiver can hold: frames are lost without credits, but not with credits.
void credits() {
  for (const bool flow_control : {true, false}) {
    Medium medium({.slots = 300}, 3);
    Station one(medium, 1, test_options(flow_control)), two(medium, 2, test_options(flow_control));
    const Peer peer = one.add(two.address);
    unsigned sent = 0;
    for (int step = 0; step < 100'000 && two.received.size() < 3000; ++step) {
      while (sent < 3000 && one.send(peer, 0, bytes_of(sent)) == Outcome::done) ++sent;
      one.poll();
      if (step % 40 == 0) two.poll();
      medium.pass(tick);
    }
    expect(two.received.size() == 3000, "a burst arrives");
    expect((medium.lost() == 0) == flow_control,
           flow_control ? "credits prevent loss" : "without credits frames are lost");
  }
}

// Puts of several senders to one receiver over a link that loses frames, by chance or because its queue is short.
// Returns the fraction of the link that they use, and the fraction of repeated frames.
struct Use {
  double link, repeated;
};
Use puts_over(const Impairment& impairment, unsigned senders, bool flow_control) {
  Medium medium(impairment, 11);
  Station target(medium, 99, test_options(flow_control));
  target.memory.resize(4'000'000);
  const std::vector<std::byte> source(target.memory.size());
  std::vector<std::unique_ptr<Station>> sources;
  for (unsigned number = 1; number <= senders; ++number) {
    sources.push_back(std::make_unique<Station>(medium, number, test_options(flow_control)));
    sources.back()->put(sources.back()->add(target.address), 1, 0, source, 1);
  }
  const Time begin = medium.now();
  const auto ended = [](const auto& each) { return !each->outcomes.empty(); };
  for (int step = 0; step < 2'000'000 && !std::all_of(sources.begin(), sources.end(), ended); ++step) {
    for (const auto& each : sources) each->poll();
    target.poll();
    medium.pass(tick);
  }
  double sent = 0, repeated = 0;
  for (const auto& each : sources) {
    sent += static_cast<double>(each->statistics().frames_sent);
    repeated += static_cast<double>(each->statistics().retransmissions);
  }
  const double frames = senders * static_cast<double>(source.size()) / 1460;
  return {frames * std::chrono::duration<double>(impairment.per_frame) / (medium.now() - begin), repeated / sent};
}

void congestion() {
  constexpr auto per_frame = microseconds(12);  // 1 Gbit/s
  const Use random = puts_over({.loss = 0.03, .per_frame = per_frame}, 1, true);
  expect(random.link > 0.9, "3 % of random losses leave the link in use");
  for (const unsigned senders : {1, 2}) {
    const Impairment narrow{.per_frame = per_frame, .queue = 40};
    const Use with = puts_over(narrow, senders, true), without = puts_over(narrow, senders, false);
    expect(with.link > 0.9 && with.repeated < 0.2, "flow control keeps a short queue from overflowing");
    expect(without.repeated > 0.5, "without flow control most frames are lost in a short queue");
  }
}

// Frames are sent together if both ends can do so, until most such frames are lost on the path.
void together() {
  const std::vector<std::byte> source = pattern(4'000'000, 12);
  for (const double loss : {0.0, 0.05, 1.0}) {
    Medium medium({.together = true, .loss_of_together = loss}, 13);
    Station one(medium, 1, test_options(true)), two(medium, 2, test_options(true));
    const Peer peer = one.add(two.address);
    two.memory.resize(source.size());
    one.put(peer, 1, 0, source, 1);
    for (int step = 0; step < 2'000'000 && one.outcomes.empty(); ++step) one.poll(), two.poll(), medium.pass(tick);
    expect(one.outcomes == std::vector<Outcome>{Outcome::done} && two.memory == source, "a put arrives whole");
    const auto frames = source.size() / 1432;
    if (loss < 0.5)
      expect(medium.together() > frames * 9 / 10, "its frames may travel together");
    else
      expect(medium.together() < frames / 10,
             "a way that drops them is left, after " + std::to_string(medium.together()) + " frames");
  }
  // Not with a peer that does not announce that it understands them.
  Medium medium({.together = true}, 14);
  Station one(medium, 1, test_options(true)), two(medium, 2, test_options(true));
  two.channel = std::make_unique<WireChannel>(std::make_unique<ImpairedWire>(medium, two.address.ethernet, false),
                                              test_options(true), two.address);
  two.memory.resize(source.size());
  one.put(one.add(two.address), 1, 0, source, 1);
  for (int step = 0; step < 2'000'000 && one.outcomes.empty(); ++step) one.poll(), two.poll(), medium.pass(tick);
  expect(two.memory == source && medium.together() == 0, "with a peer that cannot, frames travel alone");
}

// A receiver that is not open accepts a bounded number of requests, and the rest later.
void bounded() {
  Medium medium({}, 4);
  Station one(medium, 1, test_options(true)), two(medium, 2, test_options(true));
  const Peer peer = one.add(two.address);
  two.opened = false;
  unsigned sent = 0;
  const auto pass = [&](int steps) {
    for (int step = 0; step < steps; ++step) {
      sent += one.send(peer, 0, bytes_of(sent)) == Outcome::done;
      one.poll();
      two.poll();
      medium.pass(tick);
    }
  };
  pass(5000);
  expect(sent >= 10 && sent <= 1024, "requests to a blocked peer are bounded, not " + std::to_string(sent));
  expect(one.dead.empty(), "a blocked peer is alive");
  expect(two.received.size() == sent, "what was granted is delivered");
  two.opened = true;
  pass(5000);
  expect(sent > 2000 && two.received.size() + 300 > sent, "an opened peer goes on");
  for (unsigned index = 0; index < two.received.size(); ++index)
    expect(number_in(two.received[index].payload) == index, "order is kept across the pause");
}

void death() {
  Medium medium({}, 5);
  Station one(medium, 1, test_options(true)), two(medium, 2, test_options(true));
  const Peer peer = one.add(two.address);
  const std::vector<std::byte> source(1'000'000);
  two.memory.resize(source.size());
  expect(one.send(peer, 0, {}) == Outcome::done && one.put(peer, 1, 0, source, 1) == Outcome::done, "sent");
  for (int step = 0; step < 4; ++step) one.poll(), two.poll(), medium.pass(tick);
  medium.cut();
  for (int step = 0; step < 50; ++step) {
    medium.pass(milliseconds(30));
    one.poll();
    two.poll();
  }
  expect(one.dead.empty(), "1.5 s of silence are no death");
  for (int step = 0; step < 30; ++step) medium.pass(milliseconds(30)), one.poll(), two.poll();
  expect(one.dead == std::vector<Peer>{peer}, "silence beyond the timeout is death");
  expect(one.outcomes == std::vector<Outcome>{Outcome::peer_dead}, "a put to the dead ends");
  expect(one.send(peer, 0, {}) == Outcome::peer_dead, "nothing is sent to the dead");
  expect(two.dead.size() == 1, "the listener notices, too");
}

// The peer never exists.
void nobody() {
  Medium medium({}, 9);
  Station one(medium, 1, test_options(true));
  const Peer peer = one.add(test_address(2));
  one.send(peer, 0, {});
  for (int step = 0; step < 100; ++step) medium.pass(milliseconds(30)), one.poll();
  expect(one.dead == std::vector<Peer>{peer}, "who never answers is dead");
}

// If a program computes for a long time between two polls, the silence is its own.
void absence() {
  Medium medium({}, 6);
  Station one(medium, 1, test_options(true)), two(medium, 2, test_options(true));
  const Peer peer = one.add(two.address);
  one.send(peer, 0, {});
  for (int step = 0; step < 20; ++step) one.poll(), two.poll(), medium.pass(tick);
  medium.pass(std::chrono::seconds(60));
  for (int step = 0; step < 20; ++step) one.poll(), two.poll(), medium.pass(tick);
  expect(one.dead.empty() && two.dead.empty(), "our own absence is nobody's death");
}

void farewell() {
  Medium medium({.loss = 0.2}, 7);
  Station one(medium, 1, test_options(true)), two(medium, 2, test_options(true));
  const Peer peer = one.add(two.address);
  for (unsigned number = 0; number < 10; ++number) one.send(peer, 0, bytes_of(number));
  one.channel->farewell(medium.now());
  for (int step = 0; step < 100'000 && !one.channel->idle(); ++step) one.poll(), two.poll(), medium.pass(tick);
  expect(two.received.size() == 10 && two.dead.size() == 1, "a farewell comes after all messages");
  expect(one.channel->idle(), "a farewell is acknowledged");

  // Another process takes the address of the first.
  Station next(medium, 1, test_options(true));
  next.address.process += 1;
  next.channel =
      std::make_unique<WireChannel>(medium.plug_in(next.address.ethernet), test_options(true), next.address);
  const Peer again = next.add(two.address);
  next.send(again, 5, {});
  for (int step = 0; step < 100'000 && !next.channel->idle(); ++step) next.poll(), two.poll(), medium.pass(tick);
  expect(two.received.size() == 11 && two.received.back().source == 1, "a successor is another peer");
}

// A reply that waits to be sent when its peer's farewell arrives in the same poll is sent unchanged.
void last_reply() {
  Medium medium({.together = true}, 15);
  Station one(medium, 1, test_options(true)), two(medium, 2, test_options(true));
  const Peer peer = one.add(two.address);
  two.answer = true;
  const auto settle = [&] {
    for (int step = 0; step < 50; ++step) one.poll(), two.poll(), medium.pass(tick);
  };
  one.send(peer, 0, {});
  settle();
  const std::vector<std::byte> question = pattern(1000, 16);
  one.send(peer, 0, question);
  one.channel->farewell(medium.now());
  medium.pass(tick);
  medium.record = true;
  two.poll();
  const auto answers = std::ranges::count_if(medium.recorded, [&](const std::vector<std::byte>& frame) {
    return std::ranges::search(frame, question).size() == question.size();
  });
  expect(two.dead.size() == 1 && answers == 1, "the answer to a request before a farewell leaves whole");
}

void truth_of_regions() {
  Medium medium({}, 8);
  Station one(medium, 1, test_options(true)), two(medium, 2, test_options(true));
  const Peer peer = one.add(two.address);
  two.memory.resize(100);
  const std::vector<std::byte> source(90, std::byte{1});
  one.put(peer, 1, 11, source, 0);
  one.put(peer, 2, 0, source, 0);
  one.put(peer, 1, ~std::size_t{0}, source, 0);
  for (int step = 0; step < 200; ++step) one.poll(), two.poll(), medium.pass(tick);
  expect(two.memory == std::vector<std::byte>(100), "no put writes outside its region");
  expect(two.statistics().foreign == 3, "they are counted");
}

}  // namespace

int main() {
  for (const bool flow_control : {true, false}) {
    const std::string mode = flow_control ? " with credits" : " without credits";
    exchange("a good wire" + mode, {}, flow_control, 1);
    for (unsigned seed = 1; seed <= 3; ++seed) {
      const std::string which = mode + ", seed " + std::to_string(seed);
      exchange("loss" + which, {.loss = 0.05}, flow_control, seed);
      exchange("heavy loss" + which, {.loss = 0.3}, flow_control, seed);
      exchange("duplication" + which, {.duplication = 0.2}, flow_control, seed);
      exchange("reordering" + which, {.reordering = 0.2}, flow_control, seed);
      exchange("damage" + which, {.corruption = 0.05}, flow_control, seed);
      exchange("all together" + which, {.loss = 0.05, .duplication = 0.05, .reordering = 0.1, .corruption = 0.05},
               flow_control, seed);
    }
  }
  credits();
  congestion();
  together();
  bounded();
  death();
  nobody();
  absence();
  farewell();
  last_reply();
  truth_of_regions();
  return failures == 0 ? 0 : 1;
}
