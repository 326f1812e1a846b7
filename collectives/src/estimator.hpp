// How long a schedule takes: all ranks' steps walk through the network at once, as fluids that share ports,
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

// Walks the schedule as it is. Throws std::logic_error where it deadlocks or messages do not match.
Estimate walk(const Problem& problem, const Schedule& schedule);

// The same, but of a message in very many segments only its beginning is walked: once the pipeline is full,
// each further segment takes as long as the one before.
double estimate(const Problem& problem, const Algorithm& algorithm);

// What no schedule can beat: for every port, group and medium, the bytes that must pass over its rate; and
// the latency between the ranks farthest from each other that must hear of each other.
double physical_limit(const Problem& problem);

}  // namespace scope
