// network.congestion: the round trip of a small message while TCP streams fill the same path.
//
// Timed: a message of the client (rank 0) and its echo, on the client's clock, with and without streams between the
// two hosts, in the same repetition. The load begins a set time before the round trip, so that queues fill, and
// lasts until the answer has arrived. On each side, one thread both moves the streams and answers, so that nothing
// waits for a CPU that this program itself keeps busy. After flent's "realtime response under load" (RRUL).
#include <netinet/tcp.h>
#include <poll.h>

#include <chrono>
#include <stdexcept>

#include "transports/route.hpp"
#include "transports/streams.hpp"

namespace scope::loaded {
namespace {

using Clock = std::chrono::steady_clock;
using streams::give_up;
using streams::seconds_since;
using streams::Streams;
using streams::would_block;

constexpr std::byte quiet{1};  // the first byte of a small message: without load, or with load
constexpr std::byte busy{2};

class Congestion final : public Benchmark {
 public:
  Congestion(const Parameters& parameters, const Communicator& communicator)
      : partner_(partner_in(communicator)),
        client_(partner_.leads),
        load_s_(static_cast<double>(parameters.integer("load_ms")) / 1000),
        sends_(client_ || parameters.choice("direction") == "both"),
        receives_(!client_ || parameters.choice("direction") == "both"),
        message_(parameters.integer("message_bytes")),
        answer_(parameters.integer("message_bytes")),
        talk_(call_by_tcp(partner_, 0)),
        streams_(partner_, parameters.integer("flows")) {
    talk_.set(IPPROTO_TCP, TCP_NODELAY, 1);
  }

  Work work() const override { return {.bytes = 2.0 * static_cast<double>(message_.size()), .messages = 2}; }

  void fill(std::uint64_t seed) override {
    write_pattern(message_.bytes(), seed);
    answer_.clear();
  }

  void run(Repetition& repetition) override {
    streams_.use(false, receives_);
    double alone_s = 0;
    if (client_) {
      round_trip(quiet);
      alone_s = repetition.part_s([this] { round_trip(quiet); });
    } else {
      for (int number = 0; number < 2; ++number) answer();
    }
    partner_.meet();
    const double retransmitted = streams_.retransmissions();
    const double packets = streams_.packets();
    double duration_s = 0;
    streams_.use(sends_, receives_);
    if (client_) {
      const auto begin = Clock::now();
      while (seconds_since(begin) < load_s_)
        if (!streams_.move()) sleep_until_something_moves();
      streams_.count_from_here();
      const auto middle = Clock::now();
      repetition.time([this] { round_trip(busy); });
      duration_s = seconds_since(middle);
    } else {
      const auto begin = Clock::now();
      bool begun = false;
      while (answered_ == 0) {
        const bool moved = streams_.move();
        // Data that arrive before the queues are full do not tell how flows share the path.
        if (!begun && seconds_since(begin) >= load_s_ / 2) {
          streams_.count_from_here();
          begun = true;
        }
        if (!try_answer() && !moved) sleep_until_something_moves();
      }
      answered_ = 0;
      duration_s = seconds_since(begin) - load_s_ / 2;
    }
    const Streams::Counted counted = streams_.counted();
    streams_.drain();
    observe(repetition, alone_s, duration_s, counted, streams_.retransmissions() - retransmitted,
            streams_.packets() - packets);
  }

  // Both sides have the last message sent under load, since the server returned it from the buffer of its arrival.
  Check verify(std::uint64_t seed) override {
    Check check{static_cast<std::int64_t>(answer_.size()), streams_.take_problem()};
    Buffer expected(answer_.size());
    write_pattern(expected.bytes(), seed);
    expected.data()[0] = busy;
    const auto wrong = std::mismatch(expected.data(), expected.data() + expected.size(), answer_.data());
    if (check.problem.empty() && wrong.first != expected.data() + expected.size())
      check.problem = sentence({"byte ", static_cast<std::int64_t>(wrong.first - expected.data()),
                                " of the message that came back under load differs from the byte that was sent"});
    return check;
  }

  std::span<std::byte> received() override { return answer_.bytes(); }
  bool loops() const override { return false; }

 private:
  // Sends the client's message and receives its echo while the streams continue.
  void round_trip(std::byte kind) {
    message_.data()[0] = kind;
    send_all(message_.bytes());
    std::size_t have = 0;
    const auto begin = Clock::now();
    while (have < answer_.size()) {
      const std::size_t arrived = receive_some(answer_.bytes().subspan(have));
      have += arrived;
      if (!streams_.move() && arrived == 0) sleep_until_something_moves();
      give_up(begin);
    }
  }

  void answer() {
    const auto begin = Clock::now();
    while (answered_ == 0) {
      if (!try_answer()) sleep_until_something_moves();
      give_up(begin);
    }
    answered_ = 0;
  }

  // Returns whether something arrived.
  bool try_answer() {
    const std::size_t arrived = receive_some(answer_.bytes().subspan(heard_));
    heard_ += arrived;
    if (heard_ < answer_.size()) return arrived > 0;
    heard_ = 0;
    send_all(answer_.bytes());
    answered_ = 1;
    return true;
  }

  void sleep_until_something_moves() {
    std::vector<pollfd> watched{{talk_.descriptor(), POLLIN, 0}};
    streams_.watch(watched);
    poll(watched.data(), watched.size(), 1);
  }

  void send_all(std::span<const std::byte> bytes) {
    const auto begin = Clock::now();
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t moved =
          send(talk_.descriptor(), bytes.data() + done, bytes.size() - done, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (moved > 0)
        done += static_cast<std::size_t>(moved);
      else if (!would_block())
        fail("send");
      give_up(begin);
    }
  }

  std::size_t receive_some(std::span<std::byte> rest) {
    const ssize_t moved = recv(talk_.descriptor(), rest.data(), rest.size(), MSG_DONTWAIT);
    if (moved > 0) return static_cast<std::size_t>(moved);
    if (moved == 0 && !rest.empty()) throw std::runtime_error("the partner closed the connection");
    if (moved < 0 && !would_block()) fail("recv");
    return 0;
  }

  struct Report {
    double alone_s;
    double loaded_s;
    double bytes_per_s;
    double fairness;
    double retransmitted;
    double packets;
  };

  // Combines the results of both sides, as each knows only the streams that it receives.
  void observe(Repetition& repetition, double alone_s, double duration_s, const Streams::Counted& counted,
               double retransmitted, double packets) {
    const bool counts = receives_ && duration_s > 0;
    const Report mine{alone_s,
                      repetition.times().elapsed_s,
                      counts ? counted.bytes / duration_s : 0,
                      counts ? counted.fairness : 1,
                      retransmitted,
                      packets};
    const Report theirs = partner_.swap(mine);
    const Report& client = client_ ? mine : theirs;
    const Report& server = client_ ? theirs : mine;
    repetition.observe("isolated_s", client.alone_s);
    if (client.alone_s > 0) repetition.observe("bloat_factor", client.loaded_s / client.alone_s);
    // If queues are short, so is the client's round trip, and it sees too little of the streams.
    repetition.observe("bandwidth_bytes_per_s", server.bytes_per_s > 0 ? server.bytes_per_s : client.bytes_per_s);
    repetition.observe("fairness", server.bytes_per_s > 0 ? server.fairness : client.fairness);
    const double again = mine.retransmitted + theirs.retransmitted;
    const double sent = mine.packets + theirs.packets;
    repetition.observe("retransmitted_packets", again);
    repetition.observe("retransmitted_share", sent > 0 ? again / sent : 0);
  }

  Partner partner_;
  bool client_;
  double load_s_;
  bool sends_;
  bool receives_;
  std::size_t heard_ = 0;
  int answered_ = 0;
  Buffer message_;
  Buffer answer_;
  Socket talk_;
  Streams streams_;
};

const Registration registration{{
    .name = "network.congestion",
    .title = "round trip under load",
    .summary = "round trip of a small message while TCP streams fill the path, and how the streams share the path",
    .ranks = Ranks::exactly(2),
    .parameters = {size("message_bytes", "B", 64, 1, 1 << 16, "payload of the message and of its echo"),
                   problem("direction", "out,both", "streams from the first host to the second, or both ways")
                       .worded("streams one way,streams both ways"),
                   problem("flows", "", 4, 1, 64, "streams in each direction").labeled("streams"),
                   problem("load_ms", "ms", 200, 1, 10'000, "duration of the load before the message is sent")
                       .labeled("time under load before the message")},
    .definition = Definition::local,
    .metrics = {seconds("round_trip_s").labeled("round trip under load"),
                result_seconds("isolated_s").labeled("round trip without load"),
                result("bloat_factor", "", Better::lower).labeled("round trip with / without load"),
                result("fairness", "", Better::higher).labeled("fairness between streams"),
                result("bandwidth_bytes_per_s", "B/s", Better::higher).labeled("bandwidth of the streams"),
                count("retransmitted_packets", "").labeled("retransmitted packets"),
                count("retransmitted_share").labeled("fraction of the packets that were sent again")},
    .sweeps = {{"standard", "ranks=2 placement=node direction=out,both flows=1,4"},
               {"advanced", "ranks=2 placement=node direction=out,both flows=1,4,16 load_ms=50,200,1000"}},
    .make = make<Congestion>,
}};

}  // namespace
}  // namespace scope::loaded
