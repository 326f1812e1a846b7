// mpi.overlap: the share of a message's time that computation can hide.
//
// Timed: starting an exchange of messages, a computation as long as the exchange alone, and the wait for the
// exchange, on both ranks' own clocks; the slower one counts. In the same repetition the exchange and the
// computation are timed separately. Hidden is t_exchange + t_computation - t_both over the smaller of the
// first two: 1 when the longer hides the shorter completely, 0 when they add up.
#include <algorithm>
#include <array>
#include <optional>

#include "benchmark.hpp"
#include "memory/buffer.hpp"
#include "sampling/computation.hpp"

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
        arrived_(sent_.size()) {
    sent_.clear();
    arrived_.clear();
  }

  Work work() const override { return {.bytes = 2.0 * static_cast<double>(sent_.size()), .messages = 2}; }

  void fill(std::uint64_t seed) override {
    write_pattern(sent_.bytes(), 2 * seed + (1 - partner_));
    arrived_.clear();
  }

  void run(Repetition& repetition) override {
    if (!computation_) computation_.emplace(repetition.ticks());
    const auto& ticks = repetition.ticks();
    const double exchange_s = typical(ticks, [this] { exchange(0); });
    const std::int64_t steps = computation_->steps_for(exchange_s);
    const double computation_s = typical(ticks, [&] { compute(steps); });
    repetition.time([&] { exchange(steps); });
    const double both_s = repetition.times().elapsed_s / static_cast<double>(repetition.operations());
    const double shorter_s = std::min(exchange_s, computation_s);
    repetition.observe("hidden_share", (exchange_s + computation_s - both_s) / shorter_s);
    repetition.observe("exchange_s", exchange_s);
    repetition.observe("computation_s", computation_s);
  }

  Check verify(std::uint64_t seed) override {
    return {static_cast<std::int64_t>(arrived_.size()),
            pattern_problem(arrived_.bytes(), 2 * seed + partner_)};
  }

  std::span<std::byte> received() override { return arrived_.bytes(); }

 private:
  static constexpr int tries = 9;

  // The median of a few operations, agreed on by both ranks.
  template <class Operation>
  double typical(const TickClock& ticks, Operation operation) {
    std::array<double, tries> times_s;
    for (auto& time_s : times_s) {
      const Ticks start = ticks.now();
      operation();
      time_s = ticks.seconds(ticks.now() - start);
    }
    std::nth_element(times_s.begin(), times_s.begin() + tries / 2, times_s.end());
    double slower_s = 0;
    MPI_Allreduce(&times_s[tries / 2], &slower_s, 1, MPI_DOUBLE, MPI_MAX, comm_);
    return slower_s;
  }

  void compute(std::int64_t steps) {
    if (steps > 0) computation_->run(steps);
  }

  void exchange(std::int64_t steps) {
    const int bytes = static_cast<int>(sent_.size());
    std::array<MPI_Request, 2> requests;
    MPI_Irecv(arrived_.data(), bytes, MPI_BYTE, partner_, tag, comm_, &requests[0]);
    MPI_Isend(sent_.data(), bytes, MPI_BYTE, partner_, tag, comm_, &requests[1]);
    if (testing_ && steps >= tests) {
      for (int i = 0; i < tests; ++i) {
        int done = 0;
        compute(steps / tests + (i == 0 ? steps % tests : 0));
        MPI_Testall(2, requests.data(), &done, MPI_STATUSES_IGNORE);
      }
    } else {
      compute(steps);
    }
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  }

  int partner_;
  MPI_Comm comm_;
  bool testing_;
  Buffer sent_;
  Buffer arrived_;
  std::optional<Computation> computation_;
};

const Registration registration{{
    .name = "mpi.overlap",
    .title = "overlap",
    .summary = "share of an exchange hidden behind computation",
    .ranks = Ranks::exactly(2),
    .parameters = {size("message_bytes", "B", 1 << 16, 1, 1 << 28, "payload of each of the two messages"),
                   call("progress", "none,test",
                        "the computation runs undisturbed, or calls MPI_Testall 16 times")},
    .definition = Definition::local,
    .metrics = {seconds("time_s"),
                result("hidden_share", "", Better::higher).labelled("share hidden behind computation"),
                phase("exchange_s").labelled("exchange alone"),
                phase("computation_s").labelled("computation alone")},
    .sweeps =
        {{"baseline", "ranks=2 placement=core,node progress=none message_bytes=1Ki,64Ki,1Mi"},
         {"standard",
          "ranks=2 placement=core,node progress=none,test message_bytes=64,1Ki,4Ki,16Ki,64Ki,256Ki,1Mi,4Mi"},
         {"standard", "ranks=2 transport=tcp progress=none,test message_bytes=1Ki,64Ki,1Mi"}},
    .make = make<Overlap>,
}};

}  // namespace
}  // namespace scope::overlap
