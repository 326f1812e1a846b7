// State shared by all cases of a launch: the synchronized clock and its quality.
#pragma once

#include <chrono>

#include "faults/faults.hpp"
#include "mpi/hosts.hpp"
#include "options.hpp"
#include "plan/plan.hpp"
#include "processors/processors.hpp"
#include "progress/progress.hpp"
#include "samples/sample_file.hpp"
#include "sampling/median.hpp"
#include "sampling/unlisted.hpp"

namespace scope {

// A register that is suitable on one host may not be on another; ranks of one host must use the same clock.
inline TickClock calibrated_clock(ClockChoice choice, const Hosts& hosts) {
  TickClock clock(choice);
  if (hosts.leads()) clock.calibrate(calibration_s);
  double frequency_hz = clock.frequency_hz();
  MPI_Bcast(&frequency_hz, 1, MPI_DOUBLE, 0, hosts.neighbors().handle());
  clock.set_frequency(frequency_hz);
  return clock;
}

inline ClockQuality worst_quality(const TickClock& clock, const Communicator& world) {
  const ClockQuality mine = assess(clock);
  return {world.largest(mine.resolution_s), world.largest(mine.overhead_s), !world.any(!mine.monotonic)};
}

// Whether ranks share a processor on some host; simulated ranks never do.
inline bool oversubscribed(const Communicator& world) {
  if (mpi_simulates) return false;
  return world.any(must_share_processors(allowed_on_host(world), processor_quota()));
}

// When ranks leave the wait for a common start, measured with empty repetitions.
inline std::optional<CommonStart> common_start(const Setting& setting) {
  if (setting.world.size() == 1 || setting.oversubscribed) return std::nullopt;
  constexpr int starts = mpi_simulates ? 5 : 101;
  Window window(setting.world, setting.clock);
  std::vector<double> lags(starts);
  for (double& lag : lags) {
    Repetition empty(setting, window, Cadence::isolated, Synchronization::window, 1);
    empty.time([] {});
    lag = empty.times().entry_s - empty.times().agreed_start_s;
  }
  const auto first = reduce(lags, MPI_MIN, setting.world);
  auto spread = reduce(lags, MPI_MAX, setting.world);
  for (int i = 0; i < starts; ++i) spread[i] -= first[i];
  return CommonStart{median(first), median(spread)};
}

class Launch {
 public:
  // Calibrates and synchronizes the clocks. Collective.
  Launch(const Options& options, const Communicator& world, const MpiEnvironment& mpi, const Faults& faults,
         Progress& progress)
      : world_(world),
        emulated_(options.origin == "emulated" && world.root()),
        facts_{.host = faults.host(world.rank()),
               .library = mpi.library(),
               .mpi_standard = mpi.standard(),
               .settings = mpi.settings(),
               .quality = {},
               .clock_error_s = 0,
               .common_start = {}},
        hosts_(world, facts_.host),
        ticks_(calibrated_clock(options.clock, hosts_)),
        clock_(world, ticks_, hosts_, faults.clock_skew(world.rank())),
        setting_{world, ticks_, clock_, 0, 0, oversubscribed(world)} {
    facts_.quality = worst_quality(ticks_, world);
    setting_.resolution_s = facts_.quality.resolution_s;
    setting_.overhead_s = assess(ticks_).overhead_s;
    progress.enter(Stage::synchronizing_clocks);
    clock_.synchronize();
    facts_.clock_error_s = setting_.clock_error_s = clock_.measure_error();
    facts_.common_start = common_start(setting_);
  }

  const Setting& setting() const { return setting_; }
  const TickClock& ticks() const { return ticks_; }
  const GlobalClock& clock() const { return clock_; }
  const LaunchFacts& facts() const { return facts_; }
  double duration_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  double clock_error_s() { return clock_.measure_error(); }
  // CPU time of processes outside the lab since the launch began; none if the hosts are real.
  std::optional<double> outside_s() const {
    if (!emulated_) return std::nullopt;
    return std::max(0.0, unlisted_so_far_s() - unlisted_before_s_);
  }

 private:
  const Communicator& world_;
  const bool emulated_;
  const double unlisted_before_s_ = emulated_ ? unlisted_so_far_s() : 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  LaunchFacts facts_;
  Hosts hosts_;
  TickClock ticks_;
  GlobalClock clock_;
  Setting setting_;
};

// Reads the plan named by the options; action test runs every case once or twice. Collective.
inline std::vector<PlannedCase> read_plan(const Options& options, const Communicator& world) {
  auto plan = options.plan.empty() ? default_plan(world.size()) : read_plan(options.plan, world);
  if (options.action == Action::test) {
    for (auto& item : plan) {
      item.policy.complete = true;
      item.policy.budget_s = 0;
      item.policy.minimum_repetitions = 2;
      item.policy.maximum_repetitions = 3;
    }
  }
  return plan;
}

}  // namespace scope
