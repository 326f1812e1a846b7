#pragma once

#include <vector>

#include "benchmark.hpp"
#include "sampling/phases.hpp"

namespace scope {

// What every algorithm reports of its phases, on every rank, as Phases::observe tells it.
inline std::vector<Metric> with_phases(std::vector<Metric> metrics) {
  for (const char* name : {"initialise_s", "distribute_s", "compute_s", "exchange_s", "collect_s",
                           "communicate_s", "idle_s", "solve_s"}) {
    metrics.push_back(observed_seconds(name));
  }
  metrics.push_back(observed("last_share", "1", true));
  return metrics;
}

}  // namespace scope
