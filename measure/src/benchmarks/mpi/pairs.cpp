// mpi.pairs: the ping-pong of every pair of processes, one round of a tournament per case.
//
// In round r the processes i and j with i + j = r (mod p) are a pair, so that p rounds contain every pair
// once; a process that would be paired with itself rests. Timed: a round trip on both partners' own clocks.
// Isolated, each pair has the machine to itself; concurrent, the round loads every link at once, a sample of
// the bisection.
#include "benchmarks/mpi/echo.hpp"
#include "synchronization/dissemination.hpp"
#include "text/words.hpp"

namespace scope::pairs {
namespace {

constexpr int tag = 12;

class Pairs final : public Benchmark {
 public:
  Pairs(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        round_(static_cast<int>(parameters.integer("round") % communicator.size())),
        isolated_(parameters.choice("load") == "isolated"),
        message_(parameters.integer("message_bytes")) {
    message_.clear();
    if (count_pairs() == 0) {
      throw Unavailable(
          sentence({"round=", round_, ": no two of the ", communicator.size(), " ranks form a pair"}));
    }
  }

  Work work() const override {
    const double pairs = count_pairs();
    return {.bytes = 2 * pairs * static_cast<double>(message_.size()), .messages = 2 * pairs, .steps = 2};
  }

  void fill(std::uint64_t seed) override {
    first(rank()) ? write_pattern(message_.bytes(), seed_of(seed)) : message_.clear();
  }

  void run(Repetition& repetition) override {
    if (!isolated_) {
      if (!rests(rank())) exchange(repetition);
      return;
    }
    for (int one = 0; one < communicator_.size(); ++one) {
      if (!first(one)) continue;
      dissemination_barrier(communicator_);
      if (rank() == one || partner(rank()) == one) exchange(repetition);
    }
    dissemination_barrier(communicator_);
  }

  Check verify(std::uint64_t seed) override {
    if (rests(rank())) return {};
    return {static_cast<std::int64_t>(message_.size()), pattern_problem(message_.bytes(), seed_of(seed))};
  }

  std::span<std::byte> received() override {
    return rests(rank()) ? std::span<std::byte>() : message_.bytes();
  }

 private:
  int rank() const { return communicator_.rank(); }
  int partner(int of) const { return (round_ - of + communicator_.size()) % communicator_.size(); }
  bool rests(int who) const { return partner(who) == who; }
  bool first(int who) const { return who < partner(who); }
  int count_pairs() const {
    int pairs = 0;
    for (int who = 0; who < communicator_.size(); ++who) pairs += first(who) ? 1 : 0;
    return pairs;
  }
  std::uint64_t seed_of(std::uint64_t seed) const {
    return seed * communicator_.size() + std::min(rank(), partner(rank()));
  }

  void exchange(Repetition& repetition) {
    const int bytes = static_cast<int>(message_.size());
    const int other = partner(rank());
    const MPI_Comm comm = communicator_.handle();
    void* const buffer = message_.data();
    const auto send = [=] { MPI_Send(buffer, bytes, MPI_BYTE, other, tag, comm); };
    const auto receive = [=] { MPI_Recv(buffer, bytes, MPI_BYTE, other, tag, comm, MPI_STATUS_IGNORE); };
    time_round_trips(repetition, first(rank()), send, receive);
  }

  const Communicator& communicator_;
  int round_;
  bool isolated_;
  Buffer message_;
};

const Registration registration{{
    .name = "mpi.pairs",
    .title = "pair matrix",
    .summary = "ping-pong of every pair of processes, isolated or concurrent",
    .ranks = Ranks::at_least(2),
    .rungs = {{Pattern::pair_matrix, "time_s", "*"}},
    .parameters = {size("message_bytes", "B", 1024, 0, 1 << 30, "payload of each message"),
                   problem("round", "", 1, 0, 1 << 24,
                           "pairs i and j with i + j = round modulo the number of ranks"),
                   problem("load", "isolated,concurrent", "one pair at a time, or all at once")
                       .worded("one pair at a time,all pairs at once")},
    .definition = Definition::local,
    .metrics = {seconds_per_step("time_s"), bytes_per_second()},
    .sweeps = {{"standard", "ranks=nodes placement=node round=0..ranks-1 load=isolated message_bytes=1,1Mi"},
               {"standard", "ranks=nodes placement=node round=0..ranks-1 load=concurrent message_bytes=1Mi"},
               {"advanced", "ranks=all round=0..ranks-1 load=isolated,concurrent message_bytes=1,64Ki,1Mi"}},
    .make = make<Pairs>,
}};

}  // namespace
}  // namespace scope::pairs
