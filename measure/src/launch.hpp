// State shared by all cases of a launch: the synchronized clock and its quality.
#pragma once

#include <chrono>

#include "faults/faults.hpp"
#include "mpi/hosts.hpp"
#include "options.hpp"
#include "plan/plan.hpp"
#include "progress/progress.hpp"
#include "samples/sample_file.hpp"

namespace scope {

class Launch {
 public:
  // Calibrates and synchronizes the clocks. Collective.
  Launch(const Options& options, const Communicator& world, const MpiEnvironment& mpi, const Faults& faults,
         Progress& progress);

  const Setting& setting() const { return setting_; }
  const TickClock& ticks() const { return ticks_; }
  const GlobalClock& clock() const { return clock_; }
  const LaunchFacts& facts() const { return facts_; }
  double duration_s() const;
  double clock_error_s() { return clock_.measure_error(); }

 private:
  const Communicator& world_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  LaunchFacts facts_;
  Hosts hosts_;
  TickClock ticks_;
  GlobalClock clock_;
  Setting setting_;
};

// The plan named by the options; action test runs every case once or twice. Collective.
std::vector<PlannedCase> read_plan(const Options& options, const Communicator& world);

}  // namespace scope
