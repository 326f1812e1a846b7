// Open MPI: the fixed decision of its component `tuned`, the same from 4.1.0 to 5.0.10
// (coll_tuned_decision_fixed.c); whole messages, as that decision asks for no segments. Its split binary tree,
// for 16 to 32 KiB on 256 to 1,023 ranks, is a binary tree here. MPICH: binomial below 12 KiB or 8 ranks,
// else scatter and allgather, by doubling up to 512 KiB for powers of two, else by a ring (Thakur,
// Rabenseifner, Gropp, IJHPCA 19(1), 2005; MPIR_CVAR_BCAST_*).
//
// Where hosts have several ranks, both go between one rank of each host first: Open MPI since 5 (component
// `han`, here a tree of doubling in segments of 64 KiB), MPICH unless it scatters by a ring.
#include "library.hpp"

#include <mpi.h>

#include <algorithm>
#include <memory>

#include "algorithms.hpp"
#include "tree.hpp"

namespace scope {

namespace {

// The steps of a rank within a subset of ranks; the other ranks do nothing.
using Doing = std::function<void(Program&, int rank)>;

Schedule one_after_another(const Doing& first, const Doing& second) {
  const auto program = [=](int rank) {
    Program steps;
    first(steps, rank);
    second(steps, rank);
    return steps;
  };
  return {program, {}};
}

// One rank of each host, the root's first, and trees from these to the other ranks of their hosts.
struct Hosts {
  std::vector<int> leaders;
  Tree inside;
};

void collect_hosts(const Branch& branch, Hosts& hosts) {
  if (branch.host || branch.parts.empty()) {
    hosts.leaders.push_back(branch.ranks.front());
    join_doubling(branch.ranks, hosts.inside);
  } else {
    for (const Branch& part : branch.parts) collect_hosts(part, hosts);
  }
}

Hosts hosts_of(const Problem& problem) {
  Hosts hosts{{}, Tree(problem.ranks())};
  collect_hosts(led_by(problem.network->tree(), problem.root), hosts);
  std::vector<int>& leaders = hosts.leaders;
  std::sort(leaders.begin(), leaders.end());
  std::rotate(leaders.begin(), std::find(leaders.begin(), leaders.end(), problem.root), leaders.end());
  return hosts;
}

void hand_on_whole(Program& steps, const Tree& tree, int rank, std::int64_t units, bool blocking) {
  if (tree.parent[rank] >= 0) steps.receive(tree.parent[rank], Space::work, 0, units);
  for (const int child : tree.children[rank])
    if (blocking)
      steps.send(child, Space::work, 0, units);
    else
      steps.start_send(child, Space::work, 0, units);
  steps.wait_all();
}

// The whole message along a tree: to all children at once, or to one after another.
Doing whole(const Problem& problem, Tree tree, bool blocking = false) {
  const auto shared = std::make_shared<Tree>(std::move(tree));
  return [=, units = problem.units](Program& steps, int rank) {
    hand_on_whole(steps, *shared, rank, units, blocking);
  };
}

Doing whole(const Problem& problem, const std::vector<int>& order,
            const std::function<void(const std::vector<int>&, Tree&)>& join, bool blocking = false) {
  Tree tree(problem.ranks());
  join(order, tree);
  return whole(problem, std::move(tree), blocking);
}

// Four chains below the root, as equal as possible.
void join_four_chains(const std::vector<int>& order, Tree& tree) {
  const std::size_t others = order.size() - 1;
  const std::size_t chains = std::min<std::size_t>(4, others);
  std::size_t next = 1;
  for (std::size_t chain = 0; chain < chains; ++chain) {
    int above = order[0];
    for (std::size_t left = others / chains + (chain < others % chains); left > 0; --left) {
      tree.join(above, order[next]);
      above = order[next++];
    }
  }
}

// The message in as many blocks as ranks, numbered from the root.
struct Blocks {
  int ranks;
  std::int64_t units;
  Range range(int first, int count) const {
    const std::int64_t size = (units + ranks - 1) / ranks;
    const std::int64_t begin = std::min(units, first * size);
    return {begin, std::min(units, (static_cast<std::int64_t>(first) + count) * size) - begin};
  }
};

int lowest_bit(int place) {
  return place & -place;
}

// A binomial scatter: each rank hands its children their halves, the largest first, and keeps its own block.
void scatter_blocks(Program& steps, const Blocks& blocks, int place, const auto& rank_at) {
  int span = 1;
  while (span < blocks.ranks) span *= 2;
  if (place > 0) {
    span = lowest_bit(place);
    const Range range = blocks.range(place, span);
    if (range.count > 0) steps.receive(rank_at(place - span), Space::work, range.begin, range.count);
  }
  for (int half = span / 2; half > 0; half /= 2)
    if (place + half < blocks.ranks)
      if (const Range range = blocks.range(place + half, half); range.count > 0)
        steps.send(rank_at(place + half), Space::work, range.begin, range.count);
}

void ring_allgather(Program& steps, const Blocks& blocks, int place, const auto& rank_at) {
  const int ranks = blocks.ranks;
  for (int step = 0; step < ranks - 1; ++step) {
    const Range given = blocks.range((place - step + ranks) % ranks, 1);
    const Range taken = blocks.range((place - step - 1 + 2 * ranks) % ranks, 1);
    const std::int64_t coming =
        steps.start_receive(rank_at((place + ranks - 1) % ranks), Space::work, taken.begin, taken.count);
    steps.send(rank_at((place + 1) % ranks), Space::work, given.begin, given.count);
    steps.wait(coming);
  }
}

// Recursive doubling. With other numbers than powers of two, data of missing partners arrive through those
// ranks of the half that have them: these forward them inside the half, by halving.
void doubling_allgather(Program& steps, const Blocks& blocks, int place, const auto& rank_at) {
  const int ranks = blocks.ranks;
  for (int distance = 1; distance < ranks; distance *= 2) {
    const int other = place ^ distance;
    const int own_half = place / distance * distance;
    const int other_half = other / distance * distance;
    if (other < ranks) {
      const Range given = blocks.range(own_half, distance);
      const Range taken = blocks.range(other_half, distance);
      const std::int64_t coming = steps.start_receive(rank_at(other), Space::work, taken.begin, taken.count);
      steps.send(rank_at(other), Space::work, given.begin, given.count);
      steps.wait(coming);
    }
    if (other_half + distance <= ranks) continue;
    const int having = ranks - own_half - distance;  // this many ranks of a half have met a partner
    const Range missing = blocks.range(own_half + distance, distance);
    for (int half = distance / 2; half > 0; half /= 2) {
      const int neighbour = place ^ half;
      const int root = place / (2 * half) * (2 * half);
      if (neighbour >= ranks) continue;
      if (neighbour > place && place < root + having && neighbour >= root + having)
        steps.send(rank_at(neighbour), Space::work, missing.begin, missing.count);
      else if (neighbour < place && neighbour < root + having && place >= root + having)
        steps.receive(rank_at(neighbour), Space::work, missing.begin, missing.count);
    }
  }
}

Doing scatter_allgather(const Problem& problem, const std::vector<int>& order, bool ring) {
  const Blocks blocks{static_cast<int>(order.size()), problem.units};
  return [=](Program& steps, int rank) {
    const auto found = std::find(order.begin(), order.end(), rank);
    if (found == order.end()) return;
    const auto rank_at = [&](int place) { return order[static_cast<std::size_t>(place)]; };
    const int place = static_cast<int>(found - order.begin());
    scatter_blocks(steps, blocks, place, rank_at);
    if (ring)
      ring_allgather(steps, blocks, place, rank_at);
    else
      doubling_allgather(steps, blocks, place, rank_at);
  };
}

// The decision table of `tuned`, among these ranks.
Doing openmpi_tuned(const Problem& problem, const std::vector<int>& order) {
  const std::int64_t bytes = problem.units * problem.unit_bytes;
  const std::size_t ranks = order.size();
  const auto linear = [&] { return whole(problem, order, join_star); };
  const auto chains = [&] { return whole(problem, order, join_four_chains); };
  const auto pipeline = [&] { return whole(problem, order, join_chain); };
  const auto binary = [&] { return whole(problem, order, join_heap); };
  const auto binomial = [&] { return whole(problem, order, join_doubling); };
  const auto knomial = [&] {
    return whole(problem, order, [](const std::vector<int>& list, Tree& tree) { join_radix(list, 4, tree); });
  };
  if (ranks < 4) {
    if (bytes < 32) return pipeline();
    if (bytes < 256) return binary();
    if (bytes < 512) return pipeline();
    if (bytes < 1024) return knomial();
    if (bytes < 32768) return linear();
    if (bytes < 131072) return binary();
    if (bytes < 262144) return chains();
    if (bytes < 524288) return linear();
    return bytes < 1048576 ? binomial() : binary();
  }
  if (ranks < 8) {
    if (bytes < 64) return binary();
    if (bytes < 128) return binomial();
    if (bytes < 2048) return binary();
    if (bytes < 8192) return binomial();
    return bytes < 1048576 ? linear() : chains();
  }
  if (ranks < 16) {
    if (bytes < 8) return knomial();
    if (bytes < 64) return binary();
    if (bytes < 4096) return knomial();
    if (bytes < 16384) return binary();
    return bytes < 32768 ? binomial() : linear();
  }
  if (ranks < 32) {
    if (bytes < 4096) return knomial();
    return bytes < 1048576 ? binomial() : scatter_allgather(problem, order, false);
  }
  if (ranks < 64) return bytes < 2048 ? binomial() : knomial();
  if (ranks < 128) return knomial();
  if (ranks < 256) {
    if (bytes < 2) return binomial();
    if (bytes < 16384) return binary();
    if (bytes < 32768) return linear();
    return bytes < 65536 ? binary() : knomial();
  }
  if (ranks < 1024) return bytes < 16384 || bytes >= 32768 ? knomial() : binary();
  if (ranks >= 4096 && bytes >= 8192 && bytes < 16384) return binary();
  return bytes < (ranks < 2048 ? 524288 : 262144) ? knomial() : scatter_allgather(problem, order, false);
}

// Segments of 64 KiB down a binomial tree between the hosts, and on inside them.
Doing openmpi_han(const Problem& problem, const Hosts& hosts) {
  constexpr std::int64_t segment_bytes = 65536;
  const auto tree = std::make_shared<Tree>(hosts.inside);
  join_doubling(hosts.leaders, *tree);
  Problem segmented = problem;
  segmented.segment_units = std::max<std::int64_t>(1, segment_bytes / problem.unit_bytes);
  return [tree, ranges = segments(segmented)](Program& steps, int rank) {
    std::vector<std::int64_t> coming;
    for (const Range& range : ranges)
      if (tree->parent[rank] >= 0)
        coming.push_back(steps.start_receive(tree->parent[rank], Space::work, range.begin, range.count));
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (!coming.empty()) steps.wait(coming[i]);
      for (const int child : tree->children[rank])
        steps.start_send(child, Space::work, ranges[i].begin, ranges[i].count);
    }
    steps.wait_all();
  };
}

Doing nothing() {
  return [](Program&, int) {};
}

// `hosts_first`: between one rank of each host first, where there are several hosts with several ranks.
Schedule openmpi_broadcast(const Problem& problem, bool hosts_first) {
  const Hosts hosts = hosts_of(problem);
  const std::size_t leaders = hosts.leaders.size();
  if (!hosts_first || leaders == 1 || leaders == static_cast<std::size_t>(problem.ranks()))
    return one_after_another(openmpi_tuned(problem, around(problem.ranks(), problem.root)), nothing());
  if (problem.units * problem.unit_bytes > 65536)
    return one_after_another(openmpi_han(problem, hosts), nothing());
  return one_after_another(openmpi_tuned(problem, hosts.leaders), whole(problem, hosts.inside));
}

Schedule mpich_broadcast(const Problem& problem) {
  const std::int64_t bytes = problem.units * problem.unit_bytes;
  const int ranks = problem.ranks();
  const Hosts hosts = hosts_of(problem);
  const Doing inside = whole(problem, hosts.inside, true);
  if (bytes < 12288 || ranks < 8)
    return one_after_another(whole(problem, hosts.leaders, join_halving, true), inside);
  const auto power_of_two = [](std::size_t number) { return (number & (number - 1)) == 0; };
  if (!power_of_two(static_cast<std::size_t>(ranks)) || bytes >= 524288)
    return one_after_another(scatter_allgather(problem, around(ranks, problem.root), true), nothing());
  if (hosts.leaders.size() < 8)
    return one_after_another(whole(problem, hosts.leaders, join_halving, true), inside);
  return one_after_another(scatter_allgather(problem, hosts.leaders, !power_of_two(hosts.leaders.size())),
                           inside);
}

// The flat schedule nearest to the library's algorithm.
const char* closest(const Problem& problem, Library library) {
  const std::int64_t bytes = problem.units * problem.unit_bytes;
  const std::int64_t all = bytes * problem.ranks();
  const bool openmpi = library != Library::mpich;
  switch (problem.operation) {
    case Operation::reduce:
      return "flat_binomial";
    case Operation::allreduce:
      return bytes < (openmpi ? 4096 : 2048) ? "flat_recursive_doubling" : "flat_halving_doubling";
    case Operation::gather:
      return "flat_binomial";
    case Operation::scatter:
      return openmpi && bytes >= 16384 ? "flat_linear" : "flat_binomial";
    case Operation::allgather:
      if (openmpi) return problem.ranks() < 32 || all < 65536 ? "flat_dissemination" : "flat_ring";
      return all < 81920 ? "flat_dissemination" : "flat_ring";
    case Operation::alltoall:
      return "flat_pairwise";
    case Operation::barrier:
    case Operation::broadcast:
      break;
  }
  return "flat_dissemination";
}

}  // namespace

const char* name_of(Library library) {
  static constexpr const char* names[library_count] = {"openmpi4", "openmpi5", "mpich"};
  return names[static_cast<int>(library)];
}

std::optional<Library> library_named(std::string_view name) {
  for (int i = 0; i < library_count; ++i)
    if (name == name_of(static_cast<Library>(i))) return static_cast<Library>(i);
  return std::nullopt;
}

Library this_library() {
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
  return Library::openmpi4;
#elif defined(OPEN_MPI)
  return Library::openmpi5;
#else
  return Library::mpich;
#endif
}

Schedule library_schedule(const Problem& problem, Library library) {
  if (problem.operation != Operation::broadcast)
    return find_algorithm(problem.operation, closest(problem, library))->make(problem);
  if (library == Library::mpich) return mpich_broadcast(problem);
  return openmpi_broadcast(problem, library == Library::openmpi5);
}

}  // namespace scope
