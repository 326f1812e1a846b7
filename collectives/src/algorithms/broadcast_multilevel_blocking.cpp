// The optimisation of Storchi et al., section 3: as MPICH-G2, with a local tree that blocks: 3 steps for 8
// hosts.
#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {

Schedule broadcast_multilevel_blocking(const Problem& problem) {
  return cluster_by_cluster(problem, true);
}

}  // namespace scope
