// node.timer: the cost of two clock reads.
//
// Timed: pairs of successive reads with nothing in between, on every rank's own clock. Scope measures with the
// register clock; programs use the others. After TICK1 of PARKBENCH and thesis 6.3.5.
#include "registry.hpp"

namespace scope::timer {
namespace {

class Timer final : public Benchmark {
 public:
  explicit Timer(const Parameters& parameters) : source_(parameters.choice("clock")) {}

  Work work() const override { return {}; }

  void run(Repetition& repetition) override {
    const TickClock& ticks = repetition.ticks();
    if (source_ == "register") {
      repetition.time([&] { accept(static_cast<double>(ticks.now()), static_cast<double>(ticks.now())); });
    } else if (source_ == "clock_gettime") {
      repetition.time([&] {
        accept(static_cast<double>(nanoseconds_of(CLOCK_MONOTONIC)),
               static_cast<double>(nanoseconds_of(CLOCK_MONOTONIC)));
      });
    } else {
      repetition.time([&] { accept(MPI_Wtime(), MPI_Wtime()); });
    }
  }

  Check verify(std::uint64_t) override {
    Check check{pairs_, backwards_ == 0 ? "" : sentence({backwards_, " pairs of reads ran backwards"})};
    pairs_ = 0;
    backwards_ = 0;
    return check;
  }

 private:
  // Arguments may be evaluated in either order, so a step in either direction is valid; a pair has run backwards
  // only if it is before the previous one.
  void accept(double one, double other) {
    const double latest = one > other ? one : other;
    if (latest < latest_) ++backwards_;
    latest_ = latest;
    ++pairs_;
  }

  std::string source_;
  double latest_ = 0;
  std::int64_t pairs_ = 0;
  std::int64_t backwards_ = 0;
};

const Registration registration{{
    .name = "node.timer",
    .title = "clock read",
    .summary = "cost of a pair of clock reads",
    .ranks = Ranks::exactly(1),
    .parameters = {problem("clock", "register,clock_gettime,mpi_wtime", "clock to read")
                       .worded("register,clock_gettime,MPI_Wtime")},
    .definition = Definition::local,
    .metrics = {seconds("pair_s").labeled("cost of a start/stop pair")},
    .sweeps = {{"baseline", "nodes=types ranks=1 clock=register,clock_gettime,mpi_wtime"}},
    .make = make<Timer>,
}};

}  // namespace
}  // namespace scope::timer
