// One case, from its constructor to its record, such that a problem on one rank ends the case on all.
#pragma once

#include "plan/plan.hpp"
#include "samples/sample_file.hpp"

namespace scope {

// Collective. A wrong result or a failed preparation is a result too; only an error inside the timed
// exchange, after which the ranks cannot agree any more, ends the launch (MPI_Abort, naming rank, host and
// case).
CaseResult run_case(const PlannedCase& item, const Setting& setting, const Faults& faults,
                    Progress& progress);

}  // namespace scope
