#include "library/phases.hpp"

#include <algorithm>
#include <memory>

namespace scope {

namespace {

void collect_hosts(const Branch& branch, Hosts& hosts) {
  if (branch.host || branch.parts.empty()) {
    hosts.leaders.push_back(branch.ranks.front());
    join_doubling(branch.ranks, hosts.inside);
  } else {
    for (const Branch& part : branch.parts) collect_hosts(part, hosts);
  }
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

// The message divided into as many blocks as ranks, numbered from the root.
struct Blocks {
  int ranks;
  std::int64_t units;
  Range range(int first, int count) const {
    const std::int64_t size = (units + ranks - 1) / ranks;
    const std::int64_t begin = std::min(units, first * size);
    return {begin, std::min(units, (static_cast<std::int64_t>(first) + count) * size) - begin};
  }
};

// A binomial scatter: each rank sends its children their halves, largest first, and keeps its own block.
void scatter_blocks(Program& steps, const Blocks& blocks, int place, const auto& rank_at) {
  int span = 1;
  while (span < blocks.ranks) span *= 2;
  if (place > 0) {
    span = place & -place;  // the lowest bit
    const Range range = blocks.range(place, span);
    if (range.count > 0) steps.receive(rank_at(place - span), Space::work, range.begin, range.count);
  }
  for (int half = span / 2; half > 0; half /= 2)
    if (place + half < blocks.ranks)
      if (const Range range = blocks.range(place + half, half); range.count > 0)
        steps.send(rank_at(place + half), Space::work, range.begin, range.count);
}

// Sends one range and receives another at the same time.
void exchange(Program& steps, int target, const Range& given, int source, const Range& taken) {
  const std::int64_t coming = steps.start_receive(source, Space::work, taken.begin, taken.count);
  steps.send(target, Space::work, given.begin, given.count);
  steps.wait(coming);
}

void ring_allgather(Program& steps, const Blocks& blocks, int place, const auto& rank_at) {
  const int ranks = blocks.ranks;
  for (int step = 0; step < ranks - 1; ++step)
    exchange(steps, rank_at((place + 1) % ranks), blocks.range((place - step + ranks) % ranks, 1),
             rank_at((place + ranks - 1) % ranks), blocks.range((place - step - 1 + 2 * ranks) % ranks, 1));
}

// Recursive doubling. If the number of ranks is not a power of two, data of missing partners come from those ranks
// of the half that have them and forward them inside the half, by halving.
void doubling_allgather(Program& steps, const Blocks& blocks, int place, const auto& rank_at) {
  const int ranks = blocks.ranks;
  for (int distance = 1; distance < ranks; distance *= 2) {
    const int other = place ^ distance;
    const int own_half = place / distance * distance;
    const int other_half = other / distance * distance;
    if (other < ranks)
      exchange(steps, rank_at(other), blocks.range(own_half, distance), rank_at(other),
               blocks.range(other_half, distance));
    if (other_half + distance <= ranks) continue;
    const int having = ranks - own_half - distance;  // number of ranks of a half that have had a partner
    const Range missing = blocks.range(own_half + distance, distance);
    for (int half = distance / 2; half > 0; half /= 2) {
      const int neighbor = place ^ half;
      const int root = place / (2 * half) * (2 * half);
      if (neighbor >= ranks) continue;
      if (neighbor > place && place < root + having && neighbor >= root + having)
        steps.send(rank_at(neighbor), Space::work, missing.begin, missing.count);
      else if (neighbor < place && neighbor < root + having && place >= root + having)
        steps.receive(rank_at(neighbor), Space::work, missing.begin, missing.count);
    }
  }
}

}  // namespace

Schedule scheduled(std::vector<Phase> phases, std::vector<int> order) {
  const auto program = [phases = std::move(phases)](Program& steps, int rank) {
    for (const Phase& phase : phases) phase(steps, rank);
  };
  return {program, std::move(order)};
}

Hosts hosts_of(const Problem& problem) {
  Hosts hosts{{}, Tree(problem.ranks())};
  collect_hosts(led_by(problem.network->tree(), problem.root), hosts);
  std::vector<int>& leaders = hosts.leaders;
  std::sort(leaders.begin(), leaders.end());
  std::rotate(leaders.begin(), std::find(leaders.begin(), leaders.end(), problem.root), leaders.end());
  return hosts;
}

Phase broadcast_whole(const Problem& problem, Tree tree, bool blocking) {
  const auto shared = std::make_shared<Tree>(std::move(tree));
  return [=, units = problem.units](Program& steps, int rank) {
    hand_on_whole(steps, *shared, rank, units, blocking);
  };
}

Phase broadcast_whole(const Problem& problem, const std::vector<int>& order, const Join& join, bool blocking) {
  Tree tree(problem.ranks());
  join(order, tree);
  return broadcast_whole(problem, std::move(tree), blocking);
}

Phase broadcast_scattered(const Problem& problem, const std::vector<int>& order, bool ring) {
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

Phase reduce_whole(const Problem& problem, Tree tree) {
  const auto shared = std::make_shared<Tree>(std::move(tree));
  return [=, units = problem.units](Program& steps, int rank) {
    const std::vector<int>& below = shared->children[rank];
    std::vector<std::int64_t> coming;
    const auto place = [&](std::size_t child) { return static_cast<std::int64_t>(child % 2) * units; };
    const auto post = [&](std::size_t child) {
      coming.push_back(steps.start_receive(below[child], Space::incoming, place(child), units));
    };
    if (!below.empty()) post(0);
    for (std::size_t child = 0; child < below.size(); ++child) {
      if (child + 1 < below.size()) post(child + 1);
      steps.wait(coming[child]);
      steps.combine(0, Space::incoming, place(child), units);
    }
    if (shared->parent[rank] >= 0)
      steps.send(shared->parent[rank], below.empty() ? Space::input : Space::work, 0, units);
  };
}

Phase reduce_linear(const Problem& problem) {
  return [ranks = problem.ranks(), root = problem.root, units = problem.units](Program& steps, int rank) {
    if (rank != root) {
      steps.send(root, Space::input, 0, units);
      return;
    }
    for (int other = ranks - 1; other >= 0; --other) {
      if (other == root) continue;
      steps.receive(other, Space::incoming, 0, units);
      steps.combine(0, Space::incoming, 0, units);
    }
  };
}

Phase alltoall_linear(const Problem& problem) {
  return [ranks = problem.ranks(), units = problem.units](Program& steps, int rank) {
    for (int step = 1; step < ranks; ++step) {
      const int source = (rank + step) % ranks;
      steps.start_receive(source, Space::result, source * units, units);
    }
    for (int step = 1; step < ranks; ++step) {
      const int target = (rank + ranks - step) % ranks;
      steps.start_send(target, Space::input, target * units, units);
    }
    steps.wait_all();
  };
}

// The own block stays in place. `work` holds blocks by distance to their target, blocks to send, received blocks.
Phase alltoall_bruck(const Problem& problem) {
  return [ranks = problem.ranks(), units = problem.units](Program& steps, int rank) {
    const std::int64_t leaving = ranks * units;
    const std::int64_t came = leaving + (ranks / 2 + 1) * units;
    for (int ahead = 1; ahead < ranks; ++ahead)
      steps.copy(Space::work, ahead * units, Space::input, (rank + ahead) % ranks * units, units);
    for (int distance = 1; distance < ranks; distance *= 2) {
      std::vector<int> moved;
      for (int ahead = distance; ahead < ranks; ++ahead)
        if (ahead & distance) moved.push_back(ahead);
      for (std::size_t i = 0; i < moved.size(); ++i)
        steps.copy(Space::work, leaving + static_cast<std::int64_t>(i) * units, Space::work, moved[i] * units,
                   units);
      const std::int64_t all = static_cast<std::int64_t>(moved.size()) * units;
      exchange(steps, (rank + distance) % ranks, {leaving, all}, (rank + ranks - distance) % ranks, {came, all});
      for (std::size_t i = 0; i < moved.size(); ++i)
        steps.copy(Space::work, moved[i] * units, Space::work, came + static_cast<std::int64_t>(i) * units, units);
    }
    for (int behind = 1; behind < ranks; ++behind)
      steps.copy(Space::result, (rank + ranks - behind) % ranks * units, Space::work, behind * units, units);
  };
}

Phase allgather_doubling(const Problem& problem) {
  return [ranks = problem.ranks(), units = problem.units](Program& steps, int rank) {
    for (int distance = 1; distance < ranks; distance *= 2) {
      const int other = rank ^ distance;
      const auto half_of = [&](int member) {
        return Range{member / distance * distance * units, distance * units};
      };
      exchange(steps, other, half_of(rank), other, half_of(other));
    }
  };
}

// `incoming` holds the blocks by distance from the rank, so that the known blocks are contiguous.
Phase allgather_bruck(const Problem& problem) {
  return [ranks = problem.ranks(), units = problem.units](Program& steps, int rank) {
    steps.copy(Space::incoming, 0, Space::work, rank * units, units);
    for (int distance = 1; distance < ranks; distance *= 2) {
      const std::int64_t count = std::min(distance, ranks - distance) * units;
      const std::int64_t coming =
          steps.start_receive((rank + distance) % ranks, Space::incoming, distance * units, count);
      steps.send((rank + ranks - distance) % ranks, Space::incoming, 0, count);
      steps.wait(coming);
    }
    for (int ahead = 1; ahead < ranks; ++ahead)
      steps.copy(Space::work, (rank + ahead) % ranks * units, Space::incoming, ahead * units, units);
  };
}

Phase allgather_neighbors(const Problem& problem) {
  return [ranks = problem.ranks(), units = problem.units](Program& steps, int rank) {
    const bool even = rank % 2 == 0;
    const auto wrapped = [&](int number) { return (number + ranks) % ranks; };
    const int neighbors[] = {wrapped(rank + (even ? 1 : -1)), wrapped(rank + (even ? -1 : 1))};
    const int shifts[] = {even ? 2 : -2, even ? -2 : 2};
    const auto blocks = [&](int first, int count) { return Range{first * units, count * units}; };
    exchange(steps, neighbors[0], blocks(rank, 1), neighbors[0], blocks(neighbors[0], 1));
    const int own_pair = even ? rank : neighbors[0];
    int from[] = {own_pair, own_pair};
    int last = own_pair;
    for (int step = 1; step < ranks / 2; ++step) {
      int& next = from[step % 2];
      next = wrapped(next + shifts[step % 2]);
      exchange(steps, neighbors[step % 2], blocks(last, 2), neighbors[step % 2], blocks(next, 2));
      last = next;
    }
  };
}

Phase barrier_linear(const Problem& problem) {
  return [ranks = problem.ranks()](Program& steps, int rank) {
    if (rank > 0) {
      steps.send(0, Space::work, 0, 0);
      steps.receive(0, Space::work, 0, 0);
      return;
    }
    for (int other = 1; other < ranks; ++other) steps.start_receive(other, Space::work, 0, 0);
    steps.wait_all();
    for (int other = 1; other < ranks; ++other) steps.send(other, Space::work, 0, 0);
  };
}

Phase barrier_doubling(const Problem& problem) {
  return [ranks = problem.ranks()](Program& steps, int rank) {
    const int power = whole_power_of_two(ranks);
    if (rank >= power) {
      exchange(steps, rank - power, {0, 0}, rank - power, {0, 0});
      return;
    }
    const bool stands_in = rank + power < ranks;
    if (stands_in) steps.receive(rank + power, Space::work, 0, 0);
    for (int distance = 1; distance < power; distance *= 2)
      exchange(steps, rank ^ distance, {0, 0}, rank ^ distance, {0, 0});
    if (stands_in) steps.send(rank + power, Space::work, 0, 0);
  };
}

Phase barrier_tree(const Problem& problem) {
  const auto tree = std::make_shared<Tree>(problem.ranks());
  join_halving(around(problem.ranks(), 0), *tree);
  return [tree](Program& steps, int rank) {
    const std::vector<int>& below = tree->children[rank];
    for (auto child = below.rbegin(); child != below.rend(); ++child) steps.receive(*child, Space::work, 0, 0);
    if (const int above = tree->parent[rank]; above >= 0) {
      steps.send(above, Space::work, 0, 0);
      steps.receive(above, Space::work, 0, 0);
    }
    for (const int child : below) steps.send(child, Space::work, 0, 0);
  };
}

}  // namespace scope
