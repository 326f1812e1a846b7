// The optimization of Storchi et al., section 3: as in MPICH-G2, with a local tree of blocking sends: 3 steps
// for 8 hosts.
#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration broadcast_multilevel_blocking{{
    .operation = Operation::broadcast,
    .name = "multilevel_blocking",
    .make = [](const Problem& problem) -> Schedule { return cluster_by_cluster(problem, true); },
}};

}  // namespace
}  // namespace scope
