// Runs one case, from its constructor to its record; a problem on one rank ends the case on all.
#pragma once

#include "plan/plan.hpp"
#include "samples/sample_file.hpp"

namespace scope {

// Collective. Wrong results and failed preparations are recorded like any other end of a case. Only an error
// inside the timed exchange, after which the ranks are out of step, ends the launch (MPI_Abort, naming rank,
// host and case).
CaseResult run_case(const PlannedCase& item, const Setting& setting, const Faults& faults, Progress& progress);

}  // namespace scope
