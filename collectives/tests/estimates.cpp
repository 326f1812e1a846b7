// Compares estimates with times computed by hand.
#include <cmath>

#include "choice.hpp"
#include "estimator.hpp"
#include "expect.hpp"

namespace {

using namespace scope;

constexpr std::int64_t message_bytes = 40'000'000;
constexpr double step_s = 3.4;  // tau of Storchi et al.: 40 MB from host to host in HPC

void near(double got, double expected, double tolerance, const std::string& what) {
  expect(std::abs(got - expected) <= tolerance * expected,
         what + ": " + std::to_string(got) + " and not " + std::to_string(expected));
}

Group group(const std::string& name, const std::string& parent, double rate, int hosts = 0, double uplink = 0) {
  Group made;
  made.name = name;
  made.parent = parent;
  made.latency_s = 1e-9;
  made.bandwidth_bytes_per_s = rate;
  for (int i = 1; i <= hosts; ++i) made.hosts.push_back(name + std::to_string(i));
  if (uplink > 0) made.uplink_bytes_per_s = uplink;
  return made;
}

Network network(std::vector<Group> groups) {
  Topology topology;
  std::vector<std::string> hosts;
  for (const Group& each : groups) hosts.insert(hosts.end(), each.hosts.begin(), each.hosts.end());
  topology.groups = std::move(groups);
  return Network(topology, hosts);
}

double seconds(const Network& network, const std::string& name, std::int64_t bytes = message_bytes,
               Operation operation = Operation::broadcast) {
  const Problem problem{operation, &network, 0, bytes};
  return best_of(problem, *find_algorithm(operation, name), 0).seconds;
}

// The header counts: a message of 64 KiB uses rendezvous, which costs a round trip; 80 B less leave at once.
void eager_limit() {
  Group two = group("two", "", 1e9, 2);
  two.latency_s = 0.01;
  const Network pair = network({two});
  const double shorter_s = seconds(pair, "flat_binomial", 65536 - 80);
  near(shorter_s, seconds(pair, "flat_binomial", 32768), 0.02, "eager");
  near(seconds(pair, "flat_binomial", 65536) - shorter_s, 2 * two.latency_s, 0.02, "rendezvous");
}

// Table 2 at the paper's speeds: HPC 3.4 s per step, GIZA half of that, GRID ten times as fast; 100 Mbit/s between
// HPC and GRID; 0.8 MB/s to GIZA.
void the_papers_table() {
  const double port = message_bytes / step_s;
  const Network grid =
      network({group("wan", "", 0.8e6), group("lan", "wan", port), group("hpc", "lan", port, 8),
               group("grid", "lan", 10 * port, 8, port), group("giza", "wan", 2 * port, 8, 0.8e6)});
  const double wan_s = message_bytes / 0.8e6;
  // The steps after the WAN are in the root's own cluster: 3 + 2 + 1 at once, or 3 one after another.
  near(seconds(grid, "multilevel_asynchronous"), wan_s + 6 * step_s, 0.001, "asynchronous");
  near(seconds(grid, "multilevel_blocking"), wan_s + 3 * step_s, 0.001, "blocking");
  near(seconds(grid, "multilevel_asynchronous"), 69, 0.03, "asynchronous, the paper's estimate");
  near(seconds(grid, "multilevel_blocking"), 59, 0.03, "blocking, the paper's estimate");
  near(seconds(grid, "flat_binomial"), 440, 0.05, "flat, the paper's estimate");
  near(seconds(grid, "flat_binomial"), 448, 0.06, "flat, as measured");
  near(seconds(grid, "multilevel_pipelined"), wan_s, 0.005, "pipelined");
  const Problem problem{Operation::broadcast, &grid, 0, message_bytes};
  near(physical_limit(problem), wan_s, 1e-9, "limit");
  for (const std::int64_t bytes : {1'000'000, 4'000'000})
    near(seconds(grid, "multilevel_pipelined", bytes), static_cast<double>(bytes) / 0.8e6, 0.05,
         "pipelined, smaller");
  // Every transfer of a flat tree that leaves HPC or enters GIZA is counted on the trunk.
  const Algorithm& flat = *find_algorithm(Operation::broadcast, "flat_binomial");
  const Estimate simulated = simulate(problem, flat.make(problem));
  for (std::size_t i = 0; i < simulated.carried.size(); ++i)
    if (grid.resources()[i].name == "giza in")
      expect(simulated.carried[i] == 8 * message_bytes, "bytes over the WAN");
}

void one_switch_and_one_bus() {
  for (const int hosts : {2, 4, 8, 16}) {
    const Network star = network({group("switch", "", 1e7, hosts)});
    Group shared = group("bus", "", 1e7, hosts);
    shared.shared = true;
    const Network bus = network({shared});
    const double step = message_bytes / 1e7;
    const double levels = std::log2(hosts);
    near(seconds(star, "multilevel_blocking"), levels * step, 0.001, "blocking on a switch");
    near(seconds(star, "multilevel_asynchronous"), levels * (levels + 1) / 2 * step, 0.001,
         "asynchronous on a switch");
    near(seconds(star, "multilevel_pipelined"), step, 0.03, "pipelined on a switch");
    // On a bus every byte is sent once per receiver, whatever the algorithm.
    for (const char* name : {"flat_binomial", "multilevel_blocking", "multilevel_pipelined"})
      near(seconds(bus, name), (hosts - 1) * step, 0.001, std::string(name) + " on a bus");
    near(physical_limit({Operation::broadcast, &bus, 0, message_bytes}), (hosts - 1) * step, 1e-9,
         "limit of a bus");
    near(physical_limit({Operation::broadcast, &star, 0, message_bytes}), step, 1e-9, "limit of a switch");
  }
}

void half_duplex_and_full() {
  Group half = group("far", "wan", 1e7, 2, 1e6);
  const Network full = network({group("wan", "", 1e6), group("near", "wan", 1e7, 2), half});
  half.half_duplex = true;
  const Network shared = network({group("wan", "", 1e6), group("near", "wan", 1e7, 2), half});
  const Problem up_and_down{Operation::allreduce, &full, 0, message_bytes};
  near(physical_limit(up_and_down), message_bytes / 1e6, 1e-9, "full duplex");
  const Problem one_way{Operation::allreduce, &shared, 0, message_bytes};
  near(physical_limit(one_way), 2 * message_bytes / 1e6, 1e-9, "half duplex");
  near(seconds(full, "multilevel_pipelined", message_bytes, Operation::allreduce), message_bytes / 1e6, 0.05,
       "up and down");
  near(seconds(shared, "multilevel_pipelined", message_bytes, Operation::allreduce), 2 * message_bytes / 1e6, 0.05,
       "in turn");
}

// The library's own algorithm is kept if nothing would be gained.
void the_librarys_own() {
  const Network pair = network({group("switch", "", 1e7, 2)});
  const std::vector<Candidate> all = candidates({Operation::broadcast, &pair, 0, 1'000'000}, Library::mpich, 0);
  expect(chosen(all).algorithm == nullptr, "two hosts on a switch");
  const double port = 1.2e7;
  const Network grid =
      network({group("wan", "", 1e6), group("one", "wan", port, 8, 1e6), group("two", "wan", port, 8, 1e6)});
  // 16 ranks, 4 MB: Open MPI uses scatter and allgather; 8 of its last exchanges cross at once, each with half of
  // the message.
  const std::vector<Candidate> wan = candidates({Operation::broadcast, &grid, 0, 4'000'000}, Library::openmpi5, 0);
  expect(chosen(wan).algorithm && std::string(chosen(wan).algorithm->name) == "multilevel_pipelined",
         "over a WAN");
  near(wan.front().seconds, 2 + 8 * 2, 0.2, "Open MPI over a WAN");
}

// A clearance waits for data that its sender has already given to the connection. In an exchange of long messages,
// a late rank thus starts after the other, in spite of full duplex; ranks that start together send together.
void clearances_wait_behind_data() {
  const Network pair = network({group("switch", "", 1e7, 2)});
  const Problem problem{Operation::broadcast, &pair, 0, message_bytes};
  const auto exchange = [](std::int64_t busy) {
    const auto program = [busy](Program& steps, int rank) {
      if (rank == 1 && busy > 0) steps.copy(Space::work, 0, Space::input, 0, busy);
      const std::int64_t coming = steps.start_receive(1 - rank, Space::work, 0, message_bytes);
      steps.send(1 - rank, Space::work, 0, message_bytes);
      steps.wait(coming);
    };
    return Schedule{program};
  };
  const double step = message_bytes / 1e7;
  near(simulate(problem, exchange(0)).seconds, step, 0.001, "both at once");
  near(simulate(problem, exchange(80'000'000)).seconds, 2 * step, 0.01, "one behind what the other has sent");
}

// Long messages are not simulated to the end; the estimate must not depend on that.
void extrapolation() {
  const Network star = network({group("switch", "", 1e7, 6)});
  Problem problem{Operation::broadcast, &star, 0, 3'000'000};
  problem.segment_units = 8192;
  const Algorithm& algorithm = *find_algorithm(Operation::broadcast, "multilevel_pipelined");
  for (const Shape shape : algorithm.shapes) {
    problem.shape = shape;
    near(estimate(problem, algorithm), simulate(problem, algorithm.make(problem)).seconds, 0.005, name_of(shape));
  }
}

}  // namespace

int main() {
  eager_limit();
  the_papers_table();
  one_switch_and_one_bus();
  half_duplex_and_full();
  the_librarys_own();
  clearances_wait_behind_data();
  extrapolation();
  return failures ? 1 : 0;
}
