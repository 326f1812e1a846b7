// The table of algorithms: which there are for each operation.
//
// What stands in the spaces when a program begins, and when it ends:
//   broadcast  work: the message, at the root; afterwards everywhere
//   reduce     input: the contribution; work: a copy of it; afterwards, at the root, the result
//   allreduce  the same; afterwards the result is everywhere, in `result` if the program writes there, else
//   in `work` barrier    nothing gather     input: the own block; work: the own block first; afterwards, at
//   the root, the blocks in `order` scatter    work: the blocks in `order`, at the root; afterwards the own
//   block stands first allgather  work: the own block at its place in `order`; afterwards all of them
//   alltoall   input: the blocks for each rank, in `order`; result: afterwards, the blocks from each other
//              rank, in `order`
#pragma once

#include <span>

#include "schedule.hpp"

namespace scope {

struct Algorithm {
  Operation operation;
  const char* name;
  bool flat;       // it knows of no topology
  bool segmented;  // it cuts the message into segments
  std::span<const Shape> shapes;
  Schedule (*make)(const Problem&);
};

std::span<const Algorithm> algorithms();

// nullptr where the operation has none of this name.
const Algorithm* find_algorithm(Operation operation, const std::string& name);

// One per file in algorithms/.
Schedule broadcast_flat_binomial(const Problem& problem);
Schedule broadcast_multilevel_asynchronous(const Problem& problem);
Schedule broadcast_multilevel_blocking(const Problem& problem);
Schedule broadcast_multilevel_pipelined(const Problem& problem);
Schedule reduce_flat_binomial(const Problem& problem);
Schedule reduce_multilevel_pipelined(const Problem& problem);
Schedule allreduce_flat_recursive_doubling(const Problem& problem);
Schedule allreduce_flat_halving_doubling(const Problem& problem);
Schedule allreduce_flat_ring(const Problem& problem);
Schedule allreduce_multilevel_pipelined(const Problem& problem);
Schedule barrier_flat_dissemination(const Problem& problem);
Schedule barrier_multilevel_tree(const Problem& problem);
Schedule gather_flat_linear(const Problem& problem);
Schedule gather_flat_binomial(const Problem& problem);
Schedule gather_multilevel_tree(const Problem& problem);
Schedule scatter_flat_linear(const Problem& problem);
Schedule scatter_flat_binomial(const Problem& problem);
Schedule scatter_multilevel_tree(const Problem& problem);
Schedule allgather_flat_ring(const Problem& problem);
Schedule allgather_flat_dissemination(const Problem& problem);
Schedule allgather_multilevel_exchange(const Problem& problem);
Schedule alltoall_flat_pairwise(const Problem& problem);
Schedule alltoall_multilevel_exchange(const Problem& problem);

}  // namespace scope
