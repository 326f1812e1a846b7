// Building blocks of the MPI libraries' schedules.
#pragma once

#include <functional>
#include <vector>

#include "schedule.hpp"
#include "tree.hpp"

namespace scope {

// A phase belongs to a subset of ranks; all other ranks do not have steps in it.

// Runs one phase after another; `order` as in Schedule.
Schedule scheduled(std::vector<Phase> phases, std::vector<int> order = {});

// One rank of each host, the root's host first, and trees from these ranks to the other ranks of their hosts.
struct Hosts {
  std::vector<int> leaders;
  Tree inside;

  bool has_several() const { return leaders.size() > 1; }
  bool has_ranks_to_themselves() const { return leaders.size() == inside.parent.size(); }
};
Hosts hosts_of(const Problem& problem);

// Broadcast of the whole message along a tree, to all children at once or to one after another.
Phase broadcast_whole(const Problem& problem, Tree tree, bool blocking = false);

// Joins ranks in a tree; the first rank is the root.
using Join = std::function<void(const std::vector<int>& order, Tree& tree)>;
Phase broadcast_whole(const Problem& problem, const std::vector<int>& order, const Join& join,
                      bool blocking = false);

// Broadcast by a binomial scatter of one block per rank, then an allgather by a ring or by recursive doubling.
Phase broadcast_scattered(const Problem& problem, const std::vector<int>& order, bool ring);

// Reduction of the whole message along a tree; the next child's message is received while one is combined.
Phase reduce_whole(const Problem& problem, Tree tree);

// The root receives from one rank after another, starting with the last.
Phase reduce_linear(const Problem& problem);

// All-to-all with all blocks in flight at once.
Phase alltoall_linear(const Problem& problem);

// All-to-all in log2(ranks) messages, each of about half of the blocks (Bruck et al., IEEE TPDS 8(11), 1997).
Phase alltoall_bruck(const Problem& problem);

// Allgather for a power of two of ranks: every rank sends all its blocks to the rank at distance 1, 2, 4 ...
Phase allgather_doubling(const Problem& problem);

// Allgather in log2(ranks) messages, each with all known blocks that the receiver lacks (Bruck et al.).
Phase allgather_bruck(const Problem& problem);

// Allgather for an even number of ranks: two blocks at a time, alternating between both neighbors (Chen et al.,
// ICPADS 2005).
Phase allgather_neighbors(const Problem& problem);

// Barrier in which the first rank waits for all others and releases them one after another.
Phase barrier_linear(const Problem& problem);

// Barrier by exchanges at distance 1, 2, 4 ...; ranks beyond a power of two are represented by another rank.
Phase barrier_doubling(const Problem& problem);

// Barrier up and down a binomial tree.
Phase barrier_tree(const Problem& problem);

}  // namespace scope
