// What all cases of a launch share: the clock of every host made one, and what is known of both.
#pragma once

#include <chrono>

#include "faults/faults.hpp"
#include "options.hpp"
#include "plan/plan.hpp"
#include "progress/progress.hpp"
#include "samples/sample_file.hpp"

namespace scope {

class Launch {
 public:
  // Calibrates and synchronises the clocks. Collective.
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
  TickClock ticks_;
  GlobalClock clock_;
  Setting setting_;
};

// The plan that the options name; every case done once or twice when the action is test. Collective.
std::vector<PlannedCase> read_plan(const Options& options, const Communicator& world);

}  // namespace scope
