// The cases of one launch, in the order in which they run.
#pragma once

#include "registry.hpp"
#include "sampling/sampler.hpp"

namespace scope {

struct PlannedCase {
  int position;
  const Registered* benchmark;
  Parameters parameters;
  SamplingPolicy policy;
};

// Reads the file on rank 0 and gives every rank the same plan. A line is `name key=value ...`; keys that
// begin with `sampling.` and `case.` are the program's, the others the benchmark's; `#` begins a comment.
// Throws std::invalid_argument on every rank, naming file, line, key, value and allowed values. Collective.
std::vector<PlannedCase> read_plan(const std::string& path, const Communicator& world);

// Every benchmark that can run on this many ranks, once, with its default parameters.
std::vector<PlannedCase> default_plan(int ranks);

}  // namespace scope
