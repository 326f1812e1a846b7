// MPICH-G2 over LAM/MPI (Storchi et al., section 3): the root sends to the clusters' leaders in parallel,
// then every cluster has a local tree whose sends are all posted at once. These share the sender's port: 6
// steps for 8 hosts.
#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration broadcast_multilevel_asynchronous{{
    .operation = Operation::broadcast,
    .name = "multilevel_asynchronous",
    .make = [](const Problem& problem) -> Schedule { return cluster_by_cluster(problem, false); },
}};

}  // namespace
}  // namespace scope
