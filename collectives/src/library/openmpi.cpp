// Open MPI: the fixed decisions of its component `tuned`, the same from 4.1.0 to 5.0.10
// (coll_tuned_decision_fixed.c), for commutative operations. They specify neither segments nor fan-out: chains are
// one chain, the segmented ring is a ring. Not exact: the split binary tree of a broadcast (16 to 32 KiB on 256 to
// 1,023 ranks) and the in-order binary tree of a reduction (256 to 511 and over 2,047 ranks) are binary trees
// here; a reduction of less than 8 B on two or three ranks is linear.
#include <algorithm>
#include <limits>
#include <memory>

#include "algorithms.hpp"
#include "library/phases.hpp"
#include "library/rules.hpp"

namespace scope {

namespace openmpi {

namespace {

enum class Method {
  linear,
  chain,
  binary,
  binomial,
  knomial,    // radix 4
  scattered,  // scatter, then allgather
  halving,    // Rabenseifner's algorithm
  doubling,
  ring,
  neighbors,
  bruck,
  pairwise,
  tree,
  reduce_broadcast,  // a reduction, then a broadcast
};
using enum Method;

constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
constexpr int any_ranks = std::numeric_limits<int>::max();

// The method for messages below this many bytes.
struct OfBytes {
  std::int64_t below;
  Method method;
};

// The methods on fewer ranks than this.
struct OfRanks {
  int below;
  std::vector<OfBytes> methods;
};
using Table = std::vector<OfRanks>;

Method method_of(const Table& table, int ranks, std::int64_t bytes) {
  auto row = table.begin();
  while (ranks >= row->below) ++row;
  auto found = row->methods.begin();
  while (bytes >= found->below && found->below != any) ++found;
  return found->method;
}

// Bytes of the message.
const Table broadcast_table = {
    {4,
     {{32, chain},
      {256, binary},
      {512, chain},
      {1024, knomial},
      {32768, linear},
      {131072, binary},
      {262144, chain},
      {524288, linear},
      {1048576, binomial},
      {any, binary}}},
    {8, {{64, binary}, {128, binomial}, {2048, binary}, {8192, binomial}, {1048576, linear}, {any, chain}}},
    {16, {{8, knomial}, {64, binary}, {4096, knomial}, {16384, binary}, {32768, binomial}, {any, linear}}},
    {32, {{4096, knomial}, {1048576, binomial}, {any, scattered}}},
    {64, {{2048, binomial}, {any, knomial}}},
    {128, {{any, knomial}}},
    {256, {{2, binomial}, {16384, binary}, {32768, linear}, {65536, binary}, {any, knomial}}},
    {1024, {{16384, knomial}, {32768, binary}, {any, knomial}}},
    {2048, {{524288, knomial}, {any, scattered}}},
    {4096, {{262144, knomial}, {any, scattered}}},
    {any_ranks, {{8192, knomial}, {16384, binary}, {262144, knomial}, {any, scattered}}},
};

// Bytes of the message.
const Table reduce_table = {
    {4, {{8, linear}, {16, binary}, {32, chain}, {262144, linear}, {any, chain}}},
    {8,
     {{4096, binary}, {65536, chain}, {262144, binomial}, {524288, linear}, {1048576, binomial}, {any, linear}}},
    {16, {{8192, binary}, {any, binomial}}},
    {32, {{4096, binary}, {any, binomial}}},
    {256, {{any, binomial}}},
    {512, {{8192, binomial}, {16384, binary}, {any, binomial}}},
    {2048, {{any, binomial}}},
    {4096, {{512, binomial}, {1024, binary}, {8192, binomial}, {16384, binary}, {any, binomial}}},
    {any_ranks,
     {{16, binomial},
      {32, binary},
      {1024, binomial},
      {2048, binary},
      {8192, binomial},
      {16384, binary},
      {any, binomial}}},
};

// Bytes of the message.
const Table allreduce_table = {
    {4, {{8, ring}, {4096, doubling}, {8192, ring}, {16384, doubling}, {262144, ring}, {any, halving}}},
    {8, {{16, ring}, {8192, doubling}, {any, halving}}},
    {16, {{8192, doubling}, {any, halving}}},
    {32, {{64, ring}, {4096, doubling}, {any, halving}}},
    {64, {{128, ring}, {any, halving}}},
    {128, {{262144, doubling}, {any, halving}}},
    {256, {{131072, reduce_broadcast}, {262144, doubling}, {any, halving}}},
    {512, {{4096, reduce_broadcast}, {any, halving}}},
    {2048, {{2048, reduce_broadcast}, {16384, doubling}, {any, halving}}},
    {4096, {{2048, reduce_broadcast}, {4096, ring}, {16384, doubling}, {any, halving}}},
    {any_ranks, {{2048, reduce_broadcast}, {16384, ring}, {32768, doubling}, {any, halving}}},
};

// Bytes of a block.
const Table allgather_table = {
    {32, {{any, doubling}}},
    {64, {{1024, doubling}, {65536, neighbors}, {any, ring}}},
    {128, {{512, doubling}, {65536, neighbors}, {any, ring}}},
    {256, {{512, doubling}, {131072, neighbors}, {524288, ring}, {1048576, neighbors}, {any, ring}}},
    {512,
     {{32, doubling},
      {128, bruck},
      {1024, doubling},
      {131072, neighbors},
      {524288, ring},
      {1048576, neighbors},
      {any, ring}}},
    {1024, {{64, doubling}, {256, bruck}, {2048, doubling}, {any, neighbors}}},
    {2048,
     {{4, doubling},
      {8, bruck},
      {16, doubling},
      {32, bruck},
      {256, doubling},
      {512, bruck},
      {4096, doubling},
      {any, neighbors}}},
    {4096, {{32, bruck}, {128, doubling}, {512, bruck}, {4096, doubling}, {any, neighbors}}},
    {any_ranks, {{2, doubling}, {8, bruck}, {16, doubling}, {512, bruck}, {4096, doubling}, {any, neighbors}}},
};

// Bytes of a block. Both the linear and the synchronized linear exchange have all blocks in flight at once,
// because the number of requests is not limited by default.
const Table alltoall_table = {
    {3, {{32768, pairwise}, {262144, linear}, {any, pairwise}}},
    {8, {{524288, linear}, {1048576, pairwise}, {any, linear}}},
    {16, {{any, linear}}},
    {32, {{4, linear}, {512, bruck}, {any, linear}}},
    {64, {{512, bruck}, {any, linear}}},
    {256, {{1024, bruck}, {262144, linear}, {any, pairwise}}},
    {512, {{1024, bruck}, {32768, linear}, {any, pairwise}}},
    {1024, {{512, bruck}, {262144, linear}, {any, pairwise}}},
    {2048, {{512, bruck}, {any, linear}}},
    {4096, {{1024, bruck}, {any, linear}}},
    {any_ranks, {{2048, bruck}, {any, linear}}},
};

// Bytes of a block. The synchronized linear gather is linear.
const Table gather_table = {
    {4, {{4, linear}, {32768, binomial}, {65536, linear}, {131072, binomial}, {any, linear}}},
    {8, {{1024, binomial}, {8192, linear}, {32768, binomial}, {any, linear}}},
    {256, {{any, binomial}}},
    {512, {{2048, binomial}, {8192, linear}, {any, binomial}}},
    {any_ranks, {{any, binomial}}},
};

// Bytes of a block.
const Table scatter_table = {
    {4, {{any, linear}}},
    {8, {{2048, binomial}, {4096, linear}, {8192, binomial}, {any, linear}}},
    {32, {{16384, binomial}, {any, linear}}},
    {64, {{512, binomial}, {8192, linear}, {16384, binomial}, {any, linear}}},
    {any_ranks, {{512, binomial}, {any, linear}}},
};

const Table barrier_table = {
    {4, {{any, doubling}}}, {8, {{any, linear}}},   {64, {{any, doubling}}}, {256, {{any, bruck}}},
    {512, {{any, tree}}},   {1024, {{any, bruck}}}, {4096, {{any, tree}}},   {any_ranks, {{any, bruck}}},
};

Schedule flat(const Problem& problem, const char* name) {
  return find_algorithm(problem.operation, name)->make(problem);
}

// Joins ranks level by level: the children of a rank follow it at one and two times the size of its level.
void join_levels(const std::vector<int>& order, Tree& tree) {
  std::size_t width = 1;
  for (std::size_t first = 0; first < order.size(); first += width / 2) {
    for (std::size_t i = first; i < std::min(first + width, order.size()); ++i)
      for (const std::size_t below : {i + width, i + 2 * width})
        if (below < order.size()) tree.join(order[i], order[below]);
    width *= 2;
  }
}

void join_smallest_first(const std::vector<int>& order, Tree& tree) {
  join_halving(order, tree);
  for (auto& children : tree.children) std::reverse(children.begin(), children.end());
}

Phase tuned_broadcast(const Problem& problem, const std::vector<int>& order) {
  const auto along = [&](const Join& join) { return broadcast_whole(problem, order, join); };
  switch (method_of(broadcast_table, static_cast<int>(order.size()), problem.units * problem.unit_bytes)) {
    case linear: return along(join_star);
    case chain: return along(join_chain);
    case binary: return along(join_levels);
    case binomial: return along(join_doubling);
    case scattered: return broadcast_scattered(problem, order, false);
    default: return along([](const std::vector<int>& list, Tree& tree) { join_radix(list, 4, tree); });
  }
}

// Sends segments of 64 KiB down a binomial tree between the hosts, and then inside the hosts.
Phase han_broadcast(const Problem& problem, const Hosts& hosts) {
  constexpr std::int64_t segment_bytes = 65536;
  const auto along = std::make_shared<Tree>(hosts.inside);
  join_doubling(hosts.leaders, *along);
  Problem segmented = problem;
  segmented.segment_units = std::max<std::int64_t>(1, segment_bytes / problem.unit_bytes);
  return [along, ranges = segments(segmented)](Program& steps, int rank) {
    std::vector<std::int64_t> coming;
    for (const Range& range : ranges)
      if (along->parent[rank] >= 0)
        coming.push_back(steps.start_receive(along->parent[rank], Space::work, range.begin, range.count));
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (!coming.empty()) steps.wait(coming[i]);
      for (const int child : along->children[rank])
        steps.start_send(child, Space::work, ranges[i].begin, ranges[i].count);
    }
    steps.wait_all();
  };
}

// `hosts_first`: first between one rank of each host, if there are several hosts with several ranks.
Schedule broadcast(const Problem& problem, bool hosts_first) {
  const Hosts hosts = hosts_of(problem);
  if (!hosts_first || !hosts.has_several() || hosts.has_ranks_to_themselves())
    return scheduled({tuned_broadcast(problem, around(problem.ranks(), problem.root))});
  if (problem.units * problem.unit_bytes > 65536) return scheduled({han_broadcast(problem, hosts)});
  return scheduled({tuned_broadcast(problem, hosts.leaders), broadcast_whole(problem, hosts.inside)});
}

Phase tuned_reduce(const Problem& problem) {
  const auto along = [&](const Join& join) {
    Tree tree(problem.ranks());
    join(around(problem.ranks(), problem.root), tree);
    return reduce_whole(problem, std::move(tree));
  };
  switch (method_of(reduce_table, problem.ranks(), problem.units * problem.unit_bytes)) {
    case linear: return reduce_linear(problem);
    case chain: return along(join_chain);
    case binary: return along(join_levels);
    default: return along(join_smallest_first);
  }
}

Schedule allreduce(const Problem& problem) {
  Method method = method_of(allreduce_table, problem.ranks(), problem.units * problem.unit_bytes);
  if (method == ring && problem.units < problem.ranks()) method = doubling;
  const std::vector<int> all = around(problem.ranks(), problem.root);
  if (method == halving && problem.units < whole_power_of_two(problem.ranks()))  // too few elements to distribute
    return scheduled({reduce_linear(problem), broadcast_whole(problem, all, join_star)});
  switch (method) {
    case ring: return flat(problem, "flat_ring");
    case doubling: return flat(problem, "flat_recursive_doubling");
    case halving: return flat(problem, "flat_halving_doubling");
    default: return scheduled({tuned_reduce(problem), tuned_broadcast(problem, all)});
  }
}

Schedule allgather(const Problem& problem) {
  const int ranks = problem.ranks();
  Method method = method_of(allgather_table, ranks, problem.units * problem.unit_bytes);
  if (method == doubling && whole_power_of_two(ranks) != ranks) method = bruck;
  if (method == neighbors && ranks % 2 != 0) method = ring;
  const auto of_phase = [&](const Phase& phase) { return scheduled({phase}, around(ranks, 0)); };
  switch (method) {
    case doubling: return of_phase(allgather_doubling(problem));
    case bruck: return of_phase(allgather_bruck(problem));
    case neighbors: return of_phase(allgather_neighbors(problem));
    default: return flat(problem, "flat_ring");
  }
}

Schedule alltoall(const Problem& problem) {
  switch (method_of(alltoall_table, problem.ranks(), problem.units * problem.unit_bytes)) {
    case linear: return scheduled({alltoall_linear(problem)}, around(problem.ranks(), 0));
    case bruck: return scheduled({alltoall_bruck(problem)}, around(problem.ranks(), 0));
    default: return flat(problem, "flat_pairwise");
  }
}

Schedule barrier(const Problem& problem) {
  switch (method_of(barrier_table, problem.ranks(), 0)) {
    case linear: return scheduled({barrier_linear(problem)});
    case doubling: return scheduled({barrier_doubling(problem)});
    case tree: return scheduled({barrier_tree(problem)});
    default: return flat(problem, "flat_dissemination");
  }
}

Schedule rooted(const Problem& problem, const Table& table) {
  const Method method = method_of(table, problem.ranks(), problem.units * problem.unit_bytes);
  return flat(problem, method == linear ? "flat_linear" : "flat_binomial");
}

}  // namespace

}  // namespace openmpi

Schedule openmpi_schedule(const Problem& problem, bool hosts_first) {
  using namespace openmpi;
  switch (problem.operation) {
    case Operation::broadcast: return broadcast(problem, hosts_first);
    case Operation::reduce: return scheduled({tuned_reduce(problem)});
    case Operation::allreduce: return allreduce(problem);
    case Operation::gather: return rooted(problem, gather_table);
    case Operation::scatter: return rooted(problem, scatter_table);
    case Operation::allgather: return allgather(problem);
    case Operation::alltoall: return alltoall(problem);
    case Operation::barrier: return barrier(problem);
  }
  return {};
}

}  // namespace scope
