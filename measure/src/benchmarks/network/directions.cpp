// network.directions: bandwidth of a path in one direction, in the other, and in both at once.
//
// In every repetition, TCP streams fill the path forth, then back, then in both directions, each for the same
// time; the receiver counts in the second half. The three rates thus see the same state of the machine, and their
// ratios reveal paths with different rates in their two directions and paths whose directions share a medium (half
// duplex). A busy CPU, too, slows both directions at once; therefore its load is observed. Times are not results
// here, since the timed part has a set duration.
#include <chrono>
#include <fstream>

#include "transports/streams.hpp"

namespace scope::directions {
namespace {

using Clock = std::chrono::steady_clock;
using streams::seconds_since;
using streams::Streams;

// Seconds for which this thread has run or waited for a CPU; 0 if the kernel does not tell.
double occupied_s() {
  std::ifstream file("/proc/thread-self/schedstat");
  double ran = 0;
  double waited = 0;
  return file >> ran >> waited ? 1e-9 * (ran + waited) : 0;
}

class Directions final : public Benchmark {
 public:
  Directions(const Parameters& parameters, const Communicator& communicator)
      : partner_(partner_in(communicator)),
        client_(partner_.leads),
        load_s_(static_cast<double>(parameters.integer("load_ms")) / 1000),
        streams_(partner_, parameters.integer("flows")) {}

  Work work() const override { return {}; }

  void run(Repetition& repetition) override {
    const Rates out = fill_path(client_, !client_);
    const Rates in = fill_path(!client_, client_);
    Rates both{};
    repetition.time([&] { both = fill_path(true, true); });
    const Rates theirs_both = partner_.swap(both);
    const double out_rate = out.bytes_per_s + partner_.swap(out).bytes_per_s;  // the sender's rate is 0
    const double in_rate = in.bytes_per_s + partner_.swap(in).bytes_per_s;
    const double both_rate = both.bytes_per_s + theirs_both.bytes_per_s;
    repetition.observe("out_bytes_per_s", out_rate);
    repetition.observe("in_bytes_per_s", in_rate);
    repetition.observe("both_bytes_per_s", both_rate);
    const double faster = std::max(out_rate, in_rate);
    repetition.observe("symmetry", faster > 0 ? std::min(out_rate, in_rate) / faster : 0);
    repetition.observe("duplex", faster > 0 ? both_rate / (out_rate + in_rate) : 0);
    repetition.observe("processor_share", std::max(both.occupied, theirs_both.occupied));
  }

  Check verify(std::uint64_t /*seed*/) override { return {bytes_, streams_.take_problem()}; }

  std::span<std::byte> received() override { return streams_.last_arrived(); }
  bool repeats() const override { return false; }
  bool loops() const override { return false; }

 private:
  struct Rates {
    double bytes_per_s;
    double occupied;  // fraction of the time
  };

  // Both sides agree on the beginning; queued data are received before the next load.
  Rates fill_path(bool sends, bool receives) {
    partner_.meet();
    streams_.use(sends, receives);
    const double occupied = occupied_s();
    const auto begin = Clock::now();
    auto middle = begin;
    // Only the second half counts, unless nothing moved until then.
    streams_.count_from_here();
    while (seconds_since(begin) < load_s_) {
      if (!streams_.move()) streams_.sleep_until_something_moves();
      if (middle == begin && seconds_since(begin) >= load_s_ / 2) {
        streams_.count_from_here();
        middle = Clock::now();
      }
    }
    const double counted_s = seconds_since(middle);
    const double bytes = streams_.counted().bytes;
    const Rates rates{receives ? bytes / counted_s : 0, (occupied_s() - occupied) / seconds_since(begin)};
    bytes_ += static_cast<std::int64_t>(bytes);
    streams_.drain();
    return rates;
  }

  Partner partner_;
  bool client_;
  double load_s_;
  Streams streams_;
  std::int64_t bytes_ = 1;  // number of compared bytes; data are compared as they arrive
};

const Registration registration{{
    .name = "network.directions",
    .title = "rates of both directions",
    .summary = "rate of TCP streams one way, the other way, and both ways at once",
    .ranks = Ranks::exactly(2),
    .parameters =
        {problem("flows", "", 2, 1, 64, "streams in each direction").labeled("streams"),
         problem("load_ms", "ms", 300, 20, 10'000, "duration of each load (one way or both)").labeled("load")},
    .definition = Definition::local,
    .metrics =
        {result("out_bytes_per_s", "B/s", Better::higher).labeled("rate from the first host"),
         result("in_bytes_per_s", "B/s", Better::higher).labeled("rate to the first host"),
         result("both_bytes_per_s", "B/s", Better::higher).labeled("rate both ways at once"),
         result("symmetry", "", Better::higher).labeled("slower direction / faster direction"),
         result("duplex", "", Better::higher).labeled("rate both ways at once / sum of the two one-way rates"),
         condition("processor_share", "1", Better::lower).labeled("CPU demand of the busier side")},
    .sweeps = {{"standard", "ranks=2 placement=node"}, {"advanced", "ranks=2 placement=node flows=1,2,8"}},
    .make = make<Directions>,
}};

}  // namespace
}  // namespace scope::directions
