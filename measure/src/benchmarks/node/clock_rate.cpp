// node.clock_rate: whether a second of a clock is a second.
//
// Timed: an interval between two reads of a clock, each next to reads of the wall clock; the deviation is the
// difference of both intervals over the interval of the wall clock. After TICK2 of PARKBENCH, whose wall clock was
// a stopwatch; here it is the system's clock, which a time service disciplines.
#include <ctime>

#include "registry.hpp"

namespace scope::clock_rate {
namespace {

// More than any drift of oscillators and correction by time services: a clock beyond this is wrong.
constexpr double most_deviation = 1e-3;

class ClockRate final : public Benchmark {
 public:
  explicit ClockRate(const Parameters& parameters)
      : source_(parameters.choice("clock")),
        interval_s_(static_cast<double>(parameters.integer("interval_ms")) * 1e-3) {}

  Work work() const override { return {}; }

  void run(Repetition& repetition) override {
    const TickClock& ticks = repetition.ticks();
    repetition.time([&] {
      const Pair begin = read(ticks);
      Pair end = read(ticks);
      while (end.wall_s - begin.wall_s < interval_s_) end = read(ticks);
      wall_s_ = end.wall_s - begin.wall_s;
      clock_ns_ = std::llround((end.clock_s - begin.clock_s) * 1e9);
    });
    repetition.observe("deviation", std::abs(deviation()));
  }

  Check verify(std::uint64_t) override {
    if (std::abs(deviation()) <= most_deviation) return {1, ""};
    return {1, sentence({"while the wall clock counted ", wall_s_, " s, this clock counted ",
                         static_cast<double>(clock_ns_) * 1e-9, " s"})};
  }

  std::span<std::byte> received() override { return std::as_writable_bytes(std::span(&clock_ns_, 1)); }
  bool loops() const override { return false; }
  bool repeats() const override { return false; }

 private:
  struct Pair {
    double clock_s;
    double wall_s;
  };

  static double wall_s() { return static_cast<double>(nanoseconds_of(CLOCK_REALTIME) - epoch()) * 1e-9; }
  // Subtracted because seconds since 1970 leave few digits for fractions.
  static std::int64_t epoch() {
    static const auto first = static_cast<std::int64_t>(nanoseconds_of(CLOCK_REALTIME));
    return first;
  }
  double clock_s(const TickClock& ticks) const {
    if (source_ == "register") return ticks.seconds(ticks.now() - first_);
    if (source_ == "mpi_wtime") return MPI_Wtime();
    return static_cast<double>(nanoseconds_of(CLOCK_MONOTONIC)) * 1e-9;
  }
  // Reads a pair of clocks; the closest of several pairs is used, which was not interrupted.
  Pair read(const TickClock& ticks) {
    if (first_ == 0) first_ = ticks.now();
    Pair closest{};
    double gap_s = 1;
    for (int i = 0; i < 5; ++i) {
      const double before_s = wall_s();
      const double here_s = clock_s(ticks);
      const double after_s = wall_s();
      if (after_s - before_s >= gap_s) continue;
      gap_s = after_s - before_s;
      closest = {here_s, (before_s + after_s) / 2};
    }
    return closest;
  }
  double deviation() const { return static_cast<double>(clock_ns_) * 1e-9 / wall_s_ - 1; }

  std::string source_;
  double interval_s_;
  Ticks first_ = 0;
  double wall_s_ = 1;
  std::int64_t clock_ns_ = 0;
};

const Registration registration{{
    .name = "node.clock_rate",
    .title = "clock rate",
    .summary = "deviation of a clock's rate from the wall clock (TICK2)",
    .parameters =
        {problem("clock", "register,clock_gettime,mpi_wtime", "clock to compare")
             .worded("register,clock_gettime,MPI_Wtime"),
         problem("interval_ms", "ms", 50, 1, 10'000, "interval that both clocks measure").labeled("interval")},
    .definition = Definition::max_rank,
    .metrics = {result("deviation", "", Better::lower).labeled("deviation from the wall clock"),
                seconds("time_s")},
    .sweeps = {{"baseline", "nodes=types ranks=1 clock=register,clock_gettime,mpi_wtime"},
               {"standard", "nodes=types ranks=1 interval_ms=500 clock=register,clock_gettime,mpi_wtime"}},
    .make = make<ClockRate>,
}};

}  // namespace
}  // namespace scope::clock_rate
