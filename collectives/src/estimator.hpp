// The time of a schedule: all ranks' steps pass through the network at once, as fluids that share ports,
// media and uplinks max-min fairly.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms.hpp"
#include "schedule.hpp"

namespace scope {

struct Estimate {
  double seconds = 0;                 // until the last rank is done
  std::vector<std::int64_t> carried;  // bytes, of every resource of the network
};

// Simulates the whole schedule. Throws std::logic_error where it deadlocks or messages do not match.
Estimate simulate(const Problem& problem, const Schedule& schedule);

// As `simulate`, but only the beginning of a message in very many segments is simulated: once the pipeline is
// full, each further segment takes as long as the one before.
double estimate(const Problem& problem, const Algorithm& algorithm);

// A lower bound for any schedule: for every port, group and medium, the bytes that must pass over its rate;
// and the latency between the farthest ranks that must communicate.
double physical_limit(const Problem& problem);

}  // namespace scope
