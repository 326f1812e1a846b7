// mpi.pairs: the ping-pong of every pair of ranks, one round of a tournament per case.
// mpi.random_pairs: the same for randomly drawn pairs, for machines with too many pairs to measure.
//
// In round r of the tournament the ranks i and j with i + j = r (mod p) are a pair, so that p rounds contain every
// pair once; a rank that would be paired with itself rests. A random round sorts the ranks by a hash of round and
// rank, and neighbors in this order are pairs; hpcscope/models/communication/random_pairs.py does the same. Timed:
// a round trip on both partners' own clocks. Isolated: each pair has the machine to itself. Concurrent: the round
// loads all links at once, which samples the bisection.
#include <numeric>

#include "benchmarks/mpi/echo.hpp"
#include "synchronization/dissemination.hpp"

namespace scope::pairs {
namespace {

constexpr int tag = 12;

// The partner of each rank in a round; a rank that rests is its own partner.
using Partners = std::vector<int>;

Partners tournament(std::int64_t round, int ranks) {
  Partners partners(ranks);
  for (int rank = 0; rank < ranks; ++rank)
    partners[rank] = static_cast<int>((round % ranks - rank + ranks) % ranks);
  return partners;
}

Partners drawn(std::int64_t round, int ranks) {
  std::vector<int> order(ranks);
  std::iota(order.begin(), order.end(), 0);
  const auto hash = [=](int rank) { return pattern_word(round, rank); };
  std::sort(order.begin(), order.end(), [=](int one, int other) { return hash(one) < hash(other); });
  Partners partners(ranks);
  for (int place = 0; place < ranks; ++place)
    partners[order[place]] = order[(place ^ 1) < ranks ? place ^ 1 : place];
  return partners;
}

class Pairs : public Benchmark {
 public:
  Pairs(const Parameters& parameters, const Communicator& communicator, Partners partners, bool isolated)
      : communicator_(communicator),
        partners_(std::move(partners)),
        isolated_(isolated),
        message_(parameters.integer("message_bytes")) {
    message_.clear();
    if (count_pairs() == 0) {
      throw Unavailable(sentence(
          {"round=", parameters.integer("round"), ": no two of the ", communicator.size(), " ranks form a pair"}));
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

  std::span<std::byte> received() override { return rests(rank()) ? std::span<std::byte>() : message_.bytes(); }

 private:
  int rank() const { return communicator_.rank(); }
  int partner(int of) const { return partners_[of]; }
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
  Partners partners_;
  bool isolated_;
  Buffer message_;
};

class Tournament final : public Pairs {
 public:
  Tournament(const Parameters& parameters, const Communicator& communicator)
      : Pairs(parameters, communicator, tournament(parameters.integer("round"), communicator.size()),
              parameters.choice("load") == "isolated") {}
};

class Drawn final : public Pairs {
 public:
  Drawn(const Parameters& parameters, const Communicator& communicator)
      : Pairs(parameters, communicator, drawn(parameters.integer("round"), communicator.size()), false) {}
};

const Registration registration{{
    .name = "mpi.pairs",
    .title = "pair matrix",
    .summary = "ping-pong of every pair of ranks, isolated or concurrent",
    .ranks = Ranks::at_least(2),
    .rungs = {{Pattern::pair_matrix, "time_s", "*"}},
    .parameters = {size("message_bytes", "B", 1024, 0, 1 << 30, "payload of each message"),
                   problem("round", "", 1, 0, 1 << 24,
                           "number of the round: i and j form a pair if i + j = round modulo the number of ranks"),
                   problem("load", "isolated,concurrent", "one pair at a time, or all pairs at the same time")
                       .worded("one pair at a time,all pairs at once")},
    .definition = Definition::local,
    .metrics = {seconds_per_step("time_s"), bytes_per_second()},
    .sweeps =
        {{"baseline", "hosts=4..16 ranks=nodes placement=node round=0..ranks-1 load=isolated message_bytes=1,1Mi"},
         {"standard", "hosts=..256 ranks=nodes placement=node round=0..ranks-1 load=isolated message_bytes=1,1Mi"},
         {"standard", "hosts=..256 ranks=nodes placement=node round=0..ranks-1 load=concurrent message_bytes=1Mi"},
         {"advanced", "hosts=..256 ranks=all round=0..ranks-1 load=isolated,concurrent message_bytes=1,64Ki,1Mi"}},
    .make = make<Tournament>,
}};

const Registration random_registration{{
    .name = "mpi.random_pairs",
    .title = "random pairs",
    .summary = "ping-pong of pairs drawn at random, all pairs at the same time",
    .ranks = Ranks::at_least(2),
    .rungs = {{Pattern::pair_sample, "time_s", "*"}},
    .parameters = {size("message_bytes", "B", 1024, 0, 1 << 30, "payload of each message"),
                   problem("round", "", 1, 0, 1 << 24, "seed of the random pairs")},
    .definition = Definition::local,
    .metrics = {seconds_per_step("time_s"), bytes_per_second()},
    .sweeps = {{"standard", "hosts=257.. ranks=nodes placement=node round=1..96 message_bytes=1,1Mi"}},
    .make = make<Drawn>,
}};

}  // namespace
}  // namespace scope::pairs
