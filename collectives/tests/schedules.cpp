// Executes every schedule of every algorithm on data in this single process: 1 to 40 ranks, many topologies and
// roots. A posted receive poisons its memory until the wait; a posted send must find its memory unchanged at the
// wait; nothing may be left posted, unmatched or waiting. Then repeats this with one wrong step each, which must
// be detected.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>

#include "algorithms.hpp"
#include "estimator.hpp"
#include "expect.hpp"
#include "library.hpp"
#include "tree.hpp"

namespace {

using namespace scope;

using Values = std::vector<std::uint64_t>;
constexpr std::uint64_t poison = 0xdeadbeefdeadbeef;
constexpr std::uint64_t unset = 0xfeedfeedfeedfeed;

struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::uint64_t value(int rank, std::int64_t index) {
  return static_cast<std::uint64_t>(rank + 1) * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(index) * 40503u;
}

struct Posted {
  Step step;
  Values given;  // values of a send
  bool done = false;
};

struct Rank {
  std::vector<Step> steps;
  std::size_t next = 0;
  Values spaces[4];
  std::vector<Posted> posted;
  bool sent = false;  // whether the blocking send of this step is pending
};

// Messages are received in the order in which they were sent; a receive takes the message at its own position.
class Run {
 public:
  Run(const Problem& problem, std::vector<Rank> ranks) : problem_(problem), ranks_(std::move(ranks)) {}

  std::vector<Rank> finish() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
        while (ranks_[rank].next < ranks_[rank].steps.size() && step(static_cast<int>(rank))) moved = true;
    }
    for (const Rank& rank : ranks_) {
      if (rank.next < rank.steps.size()) throw Wrong("waits for ever");
      for (const Posted& posted : rank.posted)
        if (!posted.done) throw Wrong("posted and never waited for");
    }
    for (const auto& [pair, messages] : under_way_)
      if (!messages.empty()) throw Wrong("sent and never received");
    return std::move(ranks_);
  }

 private:
  Values& space(int rank, Space which) { return ranks_[rank].spaces[static_cast<int>(which)]; }

  Values read(int rank, Space which, std::int64_t begin, std::int64_t count) {
    Values& memory = space(rank, which);
    if (begin < 0 || count < 0 || begin + count > static_cast<std::int64_t>(memory.size()))
      throw Wrong("outside its memory");
    Values values(memory.begin() + begin, memory.begin() + begin + count);
    if (std::find(values.begin(), values.end(), poison) != values.end()) throw Wrong("read before it was there");
    return values;
  }

  void write(int rank, Space which, std::int64_t begin, const Values& values) {
    if (which == Space::input) throw Wrong("wrote its input");
    Values& memory = space(rank, which);
    if (begin < 0 || begin + values.size() > memory.size()) throw Wrong("outside its memory");
    std::copy(values.begin(), values.end(), memory.begin() + begin);
  }

  void send(int rank, const Step& step, Values values) {
    if (step.peer < 0 || step.peer >= problem_.ranks() || step.peer == rank) throw Wrong("to nobody");
    under_way_[{rank, step.peer}].push_back(std::move(values));
  }

  bool arrive(int rank, const Step& step) {
    std::deque<Values>& messages = under_way_[{step.peer, rank}];
    if (messages.empty()) return false;
    if (static_cast<std::int64_t>(messages.front().size()) != step.count) throw Wrong("another length than sent");
    write(rank, step.space, step.begin, messages.front());
    messages.pop_front();
    return true;
  }

  // Receives match in the order in which they were posted: earlier receives from the same rank come first.
  bool complete(int rank, std::size_t index) {
    Rank& here = ranks_[rank];
    if (index >= here.posted.size()) throw Wrong("waits for what was never posted");
    Posted& posted = here.posted[index];
    if (posted.done) return true;
    if (posted.step.action == Action::start_send) {
      if (read(rank, posted.step.space, posted.step.begin, posted.step.count) != posted.given)
        throw Wrong("changed what was being sent");
      return posted.done = true;
    }
    for (std::size_t earlier = 0; earlier < index; ++earlier)
      if (const Posted& other = here.posted[earlier]; !other.done && other.step.action == Action::start_receive &&
                                                      other.step.peer == posted.step.peer &&
                                                      !complete(rank, earlier))
        return false;
    return posted.done = arrive(rank, posted.step);
  }

  bool step(int rank) {
    Rank& here = ranks_[rank];
    const Step step = here.steps[here.next];
    switch (step.action) {
      case Action::send: send(rank, step, read(rank, step.space, step.begin, step.count)); break;
      case Action::start_send: {
        Values given = read(rank, step.space, step.begin, step.count);
        send(rank, step, given);
        here.posted.push_back({step, std::move(given)});
        break;
      }
      case Action::receive:
        for (std::size_t i = 0; i < here.posted.size(); ++i)
          if (!here.posted[i].done && here.posted[i].step.action == Action::start_receive &&
              here.posted[i].step.peer == step.peer)
            throw Wrong("overtakes a posted receive");
        if (!arrive(rank, step)) return false;
        break;
      case Action::start_receive:
        write(rank, step.space, step.begin, Values(static_cast<std::size_t>(step.count), poison));
        here.posted.push_back({step, {}});
        break;
      case Action::wait:
        if (!complete(rank, static_cast<std::size_t>(step.to))) return false;
        break;
      case Action::wait_all:
        for (std::size_t i = 0; i < here.posted.size(); ++i)
          if (!complete(rank, i)) return false;
        break;
      case Action::copy: write(rank, step.into, step.to, read(rank, step.space, step.begin, step.count)); break;
      case Action::combine: {
        Values sum = read(rank, Space::work, step.to, step.count);
        const Values other = read(rank, step.space, step.begin, step.count);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
        write(rank, Space::work, step.to, sum);
        break;
      }
    }
    ++here.next;
    return true;
  }

  const Problem& problem_;
  std::vector<Rank> ranks_;
  std::map<std::pair<int, int>, std::deque<Values>> under_way_;
};

Values block(int rank, std::int64_t units, std::int64_t salt = 0) {
  Values values(static_cast<std::size_t>(units));
  for (std::int64_t i = 0; i < units; ++i) values[static_cast<std::size_t>(i)] = value(rank, i + 1000 * salt);
  return values;
}

Values blocks(const std::vector<int>& order, const auto& one) {
  Values all;
  for (const int rank : order) {
    const Values values = one(rank);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

// The memory at the start of a program, as specified in algorithms.hpp.
std::vector<Rank> prepared(const Problem& problem, const Schedule& schedule) {
  std::vector<Rank> ranks(static_cast<std::size_t>(problem.ranks()));
  const std::int64_t units = problem.units;
  for (int number = 0; number < problem.ranks(); ++number) {
    Rank& rank = ranks[static_cast<std::size_t>(number)];
    const Program program = schedule.program(number);
    rank.steps = program.steps();
    for (const Space each : {Space::input, Space::work, Space::incoming, Space::result})
      rank.spaces[static_cast<int>(each)].assign(static_cast<std::size_t>(program.extent(each)), unset);
    const auto set = [&](Space which, std::int64_t at, const Values& values) {
      Values& memory = rank.spaces[static_cast<int>(which)];
      if (memory.size() < at + values.size()) memory.resize(at + values.size(), unset);
      std::copy(values.begin(), values.end(), memory.begin() + at);
    };
    const Values own = block(number, units);
    const auto place = std::find(schedule.order.begin(), schedule.order.end(), number) - schedule.order.begin();
    switch (problem.operation) {
      case Operation::broadcast:
        set(Space::work, 0, number == problem.root ? own : Values(own.size(), unset));
        break;
      case Operation::reduce:
      case Operation::allreduce:
      case Operation::gather:
        set(Space::input, 0, own);
        set(Space::work, 0, own);
        break;
      case Operation::scatter:
        set(Space::work, 0, Values(own.size(), unset));
        if (number == problem.root)
          set(Space::work, 0, blocks(schedule.order, [&](int r) { return block(r, units); }));
        break;
      case Operation::allgather:
        set(Space::work, 0, Values(own.size() * ranks.size(), unset));
        set(Space::work, place * units, own);
        break;
      case Operation::alltoall:
        set(Space::input, 0, blocks(schedule.order, [&](int to) { return block(number, units, to); }));
        set(Space::result, 0, Values(own.size() * ranks.size(), unset));
        set(Space::result, place * units, block(number, units, number));  // the own block is not moved
        break;
      case Operation::barrier: break;
    }
  }
  return ranks;
}

void check(const Problem& problem, const Schedule& schedule, std::vector<Rank> ended) {
  const std::int64_t units = problem.units;
  Values sum(static_cast<std::size_t>(units), 0);
  for (int rank = 0; rank < problem.ranks(); ++rank)
    for (std::int64_t i = 0; i < units; ++i) sum[static_cast<std::size_t>(i)] += value(rank, i);
  for (int number = 0; number < problem.ranks(); ++number) {
    const Rank& rank = ended[static_cast<std::size_t>(number)];
    const auto same = [&](Space which, const Values& expected) {
      const Values& memory = rank.spaces[static_cast<int>(which)];
      if (memory.size() < expected.size() || !std::equal(expected.begin(), expected.end(), memory.begin()))
        throw Wrong("rank " + std::to_string(number) + " has wrong data");
    };
    const bool root = number == problem.root;
    const auto of_all = [&](int r) { return block(r, units); };
    switch (problem.operation) {
      case Operation::broadcast: same(Space::work, block(problem.root, units)); break;
      case Operation::reduce:
        if (root) same(Space::work, sum);
        break;
      case Operation::allreduce:
        same(rank.spaces[static_cast<int>(Space::result)].empty() ? Space::work : Space::result, sum);
        break;
      case Operation::gather:
        if (root) same(Space::work, blocks(schedule.order, of_all));
        break;
      case Operation::scatter: same(Space::work, block(number, units)); break;
      case Operation::allgather: same(Space::work, blocks(schedule.order, of_all)); break;
      case Operation::alltoall:
        same(Space::result, blocks(schedule.order, [&](int from) { return block(from, units, number); }));
        break;
      case Operation::barrier: break;
    }
  }
}

// A WAN of LANs of clusters of hosts, with ranks placed on hosts at random.
struct World {
  Topology topology;
  std::vector<std::string> hosts;
};

World random_world(std::mt19937& random, int ranks) {
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  World world;
  // Latencies grow with the level, so that a detour is never shorter.
  const auto group = [&](const std::string& name, const std::string& parent, double least_s) {
    Group made;
    made.name = name;
    made.parent = parent;
    made.latency_s = least_s * (1 + below(9));
    made.bandwidth_bytes_per_s = 1e6 * (1 + below(100));
    if (!parent.empty() && below(2)) made.uplink_bytes_per_s = 1e6 * (1 + below(20));
    made.half_duplex = below(3) == 0;
    made.shared = below(3) == 0;
    return made;
  };
  world.topology.groups.push_back(group("wan", "", 1e-3));
  std::vector<std::string> hosts;
  for (int lan = 0; lan <= below(3); ++lan) {
    const std::string name = "lan" + std::to_string(lan);
    world.topology.groups.push_back(group(name, "wan", 1e-4));
    for (int cluster = 0; cluster <= below(3); ++cluster) {
      Group leaf = group(name + "c" + std::to_string(cluster), name, 1e-5);
      for (int host = 0; host <= below(5); ++host) leaf.hosts.push_back(leaf.name + "h" + std::to_string(host));
      hosts.insert(hosts.end(), leaf.hosts.begin(), leaf.hosts.end());
      world.topology.groups.push_back(std::move(leaf));
    }
  }
  for (int rank = 0; rank < ranks; ++rank) world.hosts.push_back(hosts[random() % hosts.size()]);
  return world;
}

const char* verdict(const Problem& problem, const Schedule& schedule, std::vector<Rank> ranks) {
  static std::string said;
  try {
    check(problem, schedule, Run(problem, std::move(ranks)).finish());
    return nullptr;
  } catch (const Wrong& wrong) {
    said = wrong.what();
    return said.c_str();
  }
}

// Corrupts one step of one rank in a detectable way; false if this step cannot be corrupted.
bool spoil(std::vector<Rank>& ranks, std::mt19937& random) {
  Rank& rank = ranks[random() % ranks.size()];
  if (rank.steps.empty()) return false;
  const std::size_t at = random() % rank.steps.size();
  Step& step = rank.steps[at];
  const bool message = step.action != Action::wait && step.action != Action::wait_all;
  if (!message)
    return false;  // a removed wait can go unnoticed between two receives in order; another test covers that
  switch (random() % 3) {
    case 0:
      rank.steps.erase(rank.steps.begin() + static_cast<std::ptrdiff_t>(at));
      return step.count > 0 || step.action == Action::send || step.action == Action::receive;
    case 1:
      if (step.count < 2) return false;
      step.count -= 1;
      return true;
    default:
      if (step.count < 2) return false;
      step.begin += 1;
      return true;
  }
}

bool has_root(Operation operation) {
  return operation == Operation::broadcast || operation == Operation::reduce || operation == Operation::gather ||
         operation == Operation::scatter;
}

}  // namespace

int main() {
  std::mt19937 random(20261121);
  long cases = 0, spoiled = 0, noticed = 0;
  std::set<std::string> seen;
  const auto try_out = [&](const Problem& problem, const Schedule& schedule, const std::string& name) {
    std::vector<Rank> start = prepared(problem, schedule);
    const char* wrong = verdict(problem, schedule, start);
    expect(!wrong, name + ": " + (wrong ? wrong : ""));
    try {
      const double seconds = simulate(problem, schedule).seconds;
      const double least = physical_limit(problem);
      expect(problem.units == 0 || seconds >= least * 0.999999,
             name + ": takes " + std::to_string(seconds) + " s, below the limit " + std::to_string(least));
    } catch (const std::logic_error& error) {
      expect(false, name + ": the estimator says " + error.what());
    }
    ++cases;
    if (problem.ranks() > 1 && problem.operation != Operation::barrier && problem.units > 2 &&
        spoil(start, random)) {
      ++spoiled;
      const bool seen_it = verdict(problem, schedule, std::move(start)) != nullptr;
      noticed += seen_it;
      if (!seen_it) seen.insert(name);
    }
  };
  for (int ranks = 1; ranks <= 40; ++ranks)
    for (int repetition = 0; repetition < 3; ++repetition) {
      const World world = random_world(random, ranks);
      const Network network(world.topology, world.hosts);
      for (int number = 0; number < library_count * operation_count; ++number) {
        const auto library = static_cast<Library>(number % library_count);
        const auto operation = static_cast<Operation>(number / library_count);
        if (!has_rules(operation, library)) continue;
        Problem problem{operation, &network};
        if (has_root(operation)) problem.root = static_cast<int>(random() % static_cast<unsigned>(ranks));
        problem.units = static_cast<std::int64_t>(random() % 300);
        if (operation == Operation::alltoall) problem.units %= 10;
        problem.unit_bytes = std::int64_t{1} << random() % 16;
        try_out(problem, library_schedule(problem, library),
                std::string(name_of(operation)) + " of " + name_of(library) + ", " + std::to_string(ranks) +
                    " ranks, root " + std::to_string(problem.root) + ", " +
                    std::to_string(problem.units * problem.unit_bytes) + " B");
      }
      for (const Algorithm& algorithm : algorithms())
        for (const Shape shape : algorithm.shapes) {
          Problem problem{algorithm.operation, &network};
          if (has_root(algorithm.operation))
            problem.root = static_cast<int>(random() % static_cast<unsigned>(ranks));
          // No segments, and up to more segments than are posted ahead.
          problem.units = repetition == 0 ? static_cast<std::int64_t>(random() % 4)
                                          : 3 + static_cast<std::int64_t>(random() % 300);
          if (algorithm.operation == Operation::alltoall) problem.units = std::min<std::int64_t>(problem.units, 4);
          problem.segment_units = 1 + static_cast<std::int64_t>(random() % 7);
          problem.shape = shape;
          problem.unit_bytes = repetition == 1 ? 8 : 40000;  // small and large for the estimator
          const Schedule schedule = algorithm.make(problem);
          const std::string name = std::string(name_of(algorithm.operation)) + " " + algorithm.name + " " +
                                   name_of(shape) + ", " + std::to_string(ranks) + " ranks, root " +
                                   std::to_string(problem.root) + ", " + std::to_string(problem.units) + " units";
          try_out(problem, schedule, name);
        }
    }
  // Algorithms that Open MPI chooses only on many ranks.
  for (const int ranks : {130, 257})
    for (const Operation operation : {Operation::allreduce, Operation::barrier}) {
      const World world = random_world(random, ranks);
      const Network network(world.topology, world.hosts);
      Problem problem{operation, &network};
      problem.units = operation == Operation::barrier ? 0 : 100;
      problem.unit_bytes = 8;
      try_out(problem, library_schedule(problem, Library::openmpi4),
              std::string(name_of(operation)) + " on " + std::to_string(ranks) + " ranks");
    }
  expect(cases > 5000, "too few cases");
  expect(spoiled > 500, "too few wrong steps: " + std::to_string(spoiled));
  expect(noticed == spoiled, std::to_string(spoiled - noticed) + " wrong steps were not noticed, for example " +
                                 (seen.empty() ? "" : *seen.begin()));
  std::printf("%ld schedules, %ld of %ld wrong steps noticed\n", cases, noticed, spoiled);
  return failures ? 1 : 0;
}
