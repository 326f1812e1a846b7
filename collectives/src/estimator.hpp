// Estimates the time of a schedule: the steps of all ranks pass through the network concurrently, as fluids that
// share ports, media and uplinks max-min fairly.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms.hpp"
#include "schedule.hpp"

namespace scope {

struct Estimate {
  double seconds = 0;                 // until the last rank is done
  std::vector<std::int64_t> carried;  // bytes over every resource of the network
};

// Simulates the whole schedule. Throws std::logic_error if it deadlocks or messages do not match.
Estimate simulate(const Problem& problem, const Schedule& schedule);

// As `simulate`, but for a message with very many segments, only the beginning is simulated: once the pipeline is
// full, each further segment takes as long as the previous one.
double estimate(const Problem& problem, const Algorithm& algorithm);

// A lower bound for any schedule: for every port, group and medium, the bytes that must pass / its rate; and the
// latency between the farthest ranks that must communicate.
double physical_limit(const Problem& problem);

}  // namespace scope
