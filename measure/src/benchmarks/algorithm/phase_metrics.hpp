#pragma once

#include "benchmark.hpp"
#include "sampling/phases.hpp"

namespace scope {

// Adds the phase metrics that all algorithms have, observed by Phases on every rank.
inline std::vector<Metric> with_phases(std::vector<Metric> metrics) {
  for (const char* name :
       {"initialize_s", "distribute_s", "compute_s", "exchange_s", "collect_s", "communicate_s", "idle_s"}) {
    metrics.push_back(phase(name));
  }
  metrics.push_back(phase("solve_s").labeled("time without initialization"));
  metrics.push_back(condition("last_arrival_share", "1", Better::lower)
                        .labeled("fraction of a rank's exchanges that it entered last"));
  return metrics;
}

}  // namespace scope
