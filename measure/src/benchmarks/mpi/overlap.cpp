// mpi.overlap: the fraction of a message's time that computation can hide.
//
// Timed: starting an exchange of messages, a computation that takes as long as the bare exchange, and waiting for
// the exchange, on both ranks' own clocks; the slower one counts. In the same repetition, the exchange and the
// computation are timed alone, in loops of as many operations. The hidden fraction is t_exchange + t_computation -
// t_both over the smaller of the first two: 1 if the shorter costs no additional time, 0 if the times add up.

#include "benchmark.hpp"
#include "sampling/overlapped.hpp"

namespace scope::overlap {
namespace {

constexpr int tag = 20;
constexpr int tests = 16;  // MPI_Testall calls spread over the computation if requested

class Overlap final : public Benchmark {
 public:
  Overlap(const Parameters& parameters, const Communicator& communicator)
      : partner_(1 - communicator.rank()),
        comm_(communicator.handle()),
        testing_(parameters.choice("progress") == "test"),
        sent_(parameters.integer("message_bytes")),
        arrived_(parameters.integer("message_bytes")),
        overlapped_(communicator) {
    sent_.clear();
  }

  Work work() const override { return {.bytes = 2.0 * static_cast<double>(sent_.size()), .messages = 2}; }

  void fill(std::uint64_t seed) override {
    write_pattern(sent_.bytes(), 2 * seed + (1 - partner_));
    arrived_.clear();
  }

  void run(Repetition& repetition) override {
    arrived_.use(Overlapped::communications(repetition));
    const auto alone = [this](std::int64_t number) {
      start(number);
      finish();
    };
    overlapped_.run(repetition, alone, [this](std::int64_t number, Computation& computation, std::int64_t steps) {
      start(number);
      testing_&& steps >= tests ? compute_and_test(computation, steps) : computation.run(steps);
      finish();
    });
  }

  Check verify(std::uint64_t seed) override {
    return {arrived_.count() * static_cast<std::int64_t>(sent_.size()),
            arrived_.pattern_problem(2 * seed + partner_)};
  }

  std::span<std::byte> received() override { return arrived_.bytes(); }
  std::int64_t most_operations() const override { return arrived_.most() / 2; }

 private:
  void start(std::int64_t number) {
    const int bytes = static_cast<int>(sent_.size());
    MPI_Irecv(arrived_[number], bytes, MPI_BYTE, partner_, tag, comm_, &requests_[0]);
    MPI_Isend(sent_.data(), bytes, MPI_BYTE, partner_, tag, comm_, &requests_[1]);
  }
  void finish() { MPI_Waitall(2, requests_.data(), MPI_STATUSES_IGNORE); }

  void compute_and_test(Computation& computation, std::int64_t steps) {
    for (int i = 0; i < tests; ++i) {
      int done = 0;
      computation.run(steps / tests + (i == 0 ? steps % tests : 0));
      MPI_Testall(2, requests_.data(), &done, MPI_STATUSES_IGNORE);
    }
  }

  int partner_;
  MPI_Comm comm_;
  bool testing_;
  Buffer sent_;
  MessageSlots arrived_;
  std::array<MPI_Request, 2> requests_{};
  Overlapped overlapped_;
};

const Registration registration{{
    .name = "mpi.overlap",
    .title = "overlap",
    .summary = "fraction of an exchange hidden behind computation",
    .ranks = Ranks::exactly(2),
    .parameters = {size("message_bytes", "B", 1 << 16, 1, 1 << 28, "payload of each of the two messages"),
                   call("progress", "none,test", "the computation runs undisturbed, or calls MPI_Testall 16 times")
                       .worded(",with MPI_Testall")},
    .definition = Definition::local,
    .metrics = {seconds("time_s"),
                result("hidden_share", "", Better::higher).labeled("fraction hidden behind computation"),
                phase("exchange_s").labeled("exchange alone"),
                phase("computation_s").labeled("computation alone")},
    .sweeps = {{"baseline", "ranks=2 placement=core,node progress=none message_bytes=1Ki,64Ki,1Mi"},
               {"standard",
                "ranks=2 placement=core,node progress=none,test message_bytes=64,1Ki,4Ki,16Ki,64Ki,256Ki,1Mi,4Mi"},
               {"standard", "ranks=2 transport=tcp progress=none,test message_bytes=1Ki,64Ki,1Mi"}},
    .make = make<Overlap>,
}};

}  // namespace
}  // namespace scope::overlap
