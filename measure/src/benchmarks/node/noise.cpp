// node.noise: CPU time that the operating system takes from a computing process.
//
// Timed: many equal quanta of work, each by Scope's measurement clock, on every rank. A quantum that took much
// longer than most was interrupted: a detour. Fixed work quanta after Sottile and Minnich.
#include <complex>
#include <numbers>

#include "benchmark.hpp"
#include "sampling/median.hpp"

namespace scope::noise {
namespace {

// A detour lengthens a quantum by at least this fraction of the usual time.
constexpr double detour_share = 0.25;
// Minimum number of events for a period, and the probability that independent events show a period anywhere.
constexpr std::size_t fewest_events = 12;
constexpr double false_alarm = 1e-3;
// Density of the frequency search: the best candidate is at most a few percent below the true peak.
constexpr double steps_per_resolution = 5;
constexpr double most_frequencies = 20'000;

// Knuth's linear congruential generator: every step depends on the previous one, so that the work takes the
// same time in any context.
constexpr std::uint64_t multiplier = 6364136223846793005u;
constexpr std::uint64_t increment = 1442695040888963407u;

std::uint64_t work_quantum(std::uint64_t state, std::int64_t steps) {
  for (std::int64_t i = 0; i < steps; ++i) state = state * multiplier + increment;
  return state;
}

// The same result by squaring the step (Brown 1994, Transactions of the American Nuclear Society 71).
std::uint64_t jump(std::uint64_t state, std::uint64_t steps) {
  std::uint64_t factor = multiplier;
  std::uint64_t term = increment;
  for (; steps > 0; steps /= 2) {
    if (steps % 2 == 1) state = state * factor + term;
    term *= factor + 1;
    factor *= factor;
  }
  return state;
}

// The strength of a period: n |mean of exp(2 pi i f t)|^2, which is exponentially distributed with mean 1
// if the times are independent of the period (Rayleigh's test; Mardia and Jupp 2000, "Directional Statistics",
// section 6.3).
double strength(const std::vector<double>& times_s, double frequency_hz) {
  std::complex<double> sum = 0;
  for (const double time_s : times_s) sum += std::polar(1.0, 2 * std::numbers::pi * frequency_hz * time_s);
  return std::norm(sum) / static_cast<double>(times_s.size());
}

// The period of the events; 0 if none is significant. Multiples of its frequency have the same strength, so the
// lowest frequency with nearly the largest strength is used.
double dominant_period_s(const std::vector<double>& times_s, double duration_s, double quantum_s) {
  if (times_s.size() < fewest_events) return 0;
  const double lowest_hz = 4 / duration_s;
  const double step_hz = 1 / (duration_s * steps_per_resolution);
  const double highest_hz = std::min(1 / (8 * quantum_s), lowest_hz + most_frequencies * step_hz);
  std::vector<double> strengths;
  for (double f = lowest_hz; f < highest_hz; f += step_hz) strengths.push_back(strength(times_s, f));
  if (strengths.empty()) return 0;
  const double most = *std::max_element(strengths.begin(), strengths.end());
  if (most < std::log(static_cast<double>(strengths.size()) / false_alarm)) return 0;
  const auto first = std::find_if(strengths.begin(), strengths.end(), [&](double s) { return s > 0.8 * most; });
  // Climbs from there to the top of this peak.
  auto top = first;
  while (top + 1 != strengths.end() && *(top + 1) > *top) ++top;
  return 1 / (lowest_hz + step_hz * static_cast<double>(top - strengths.begin()));
}

class Noise final : public Benchmark {
 public:
  explicit Noise(const Parameters& parameters)
      : quantum_s_(1e-9 * static_cast<double>(parameters.integer("quantum_ns"))),
        ends_(parameters.integer("quanta") + 1) {}

  Work work() const override { return {}; }

  void run(Repetition& repetition) override {
    const TickClock& ticks = repetition.ticks();
    if (steps_ == 0) calibrate(ticks);
    repetition.time([&] {
      std::uint64_t state = state_;
      ends_[0] = ticks.now();
      for (std::size_t i = 1; i < ends_.size(); ++i) {
        state = work_quantum(state, steps_);
        ends_[i] = ticks.now();
      }
      reached_ = state;
    });
    observe_detours(repetition);
  }

  // Checks that the state is as predicted, so that the quanta did their work, and that time never ran backwards.
  Check verify(std::uint64_t) override {
    const auto quanta = static_cast<std::int64_t>(ends_.size() - 1);
    if (reached_ != jump(state_, static_cast<std::uint64_t>(steps_ * quanta)))
      return {quanta, "the timed work gave a wrong result"};
    const bool forwards = std::is_sorted(ends_.begin(), ends_.end());
    return {quanta, forwards ? "" : "the clock ran backwards"};
  }

  std::span<std::byte> received() override { return std::as_writable_bytes(std::span(&reached_, 1)); }

  bool loops() const override { return false; }

 private:
  // Calibrates the number of steps per quantum from the fastest of several runs, which is undisturbed.
  void calibrate(const TickClock& ticks) {
    constexpr std::int64_t trial = 10'000;
    double fastest_s = 1;
    for (int i = 0; i < 20; ++i) {
      const Ticks start = ticks.now();
      state_ = work_quantum(state_, trial);
      fastest_s = std::min(fastest_s, ticks.seconds(ticks.now() - start));
    }
    steps_ = std::max<std::int64_t>(1, std::llround(trial * quantum_s_ / fastest_s));
  }

  void observe_detours(Repetition& repetition) const {
    const std::size_t quanta = ends_.size() - 1;
    std::vector<double> times_s(quanta);
    for (std::size_t i = 0; i < quanta; ++i) times_s[i] = repetition.ticks().seconds(ends_[i + 1] - ends_[i]);
    const double usual_s = median(times_s);
    const double total_s = repetition.ticks().seconds(ends_.back() - ends_.front());
    std::vector<double> detours_at_s;
    double lost_s = 0;
    double longest_s = 0;
    for (std::size_t i = 0; i < quanta; ++i) {
      const double excess_s = times_s[i] - usual_s;
      if (excess_s < detour_share * usual_s) continue;
      detours_at_s.push_back(repetition.ticks().seconds(ends_[i] - ends_.front()));
      lost_s += excess_s;
      longest_s = std::max(longest_s, excess_s);
    }
    repetition.observe("noise_share", lost_s / total_s);
    repetition.observe("longest_detour_s", longest_s);
    repetition.observe("detours_per_s", static_cast<double>(detours_at_s.size()) / total_s);
    repetition.observe("period_s", dominant_period_s(detours_at_s, total_s, usual_s));
  }

  double quantum_s_;
  std::vector<Ticks> ends_;
  std::int64_t steps_ = 0;
  std::uint64_t state_ = 1;
  std::uint64_t reached_ = 0;
};

const Registration registration{{
    .name = "node.noise",
    .title = "operating system noise",
    .summary = "CPU time lost to the operating system, longest detour and period",
    .parameters = {problem("quanta", "", 50'000, 100, 10'000'000, "pieces of work per repetition"),
                   size("quantum_ns", "ns", 2000, 200, 1'000'000, "time of one piece of work").labeled("quantum")},
    .definition = Definition::max_rank,
    .metrics = {result("noise_share", "1", Better::lower).labeled("CPU time lost to the operating system"),
                result_seconds("longest_detour_s"),
                result("detours_per_s", "1/s", Better::lower).labeled("detours per second"),
                result_seconds("period_s").labeled("period of the detours"), seconds("time_s")},
    .sweeps = {{"baseline", "nodes=types ranks=2,4"}, {"standard", "nodes=types ranks=1,all quanta=50000,250000"}},
    .make = make<Noise>,
}};

}  // namespace
}  // namespace scope::noise
