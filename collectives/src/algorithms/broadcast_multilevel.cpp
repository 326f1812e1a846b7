// The message crosses the slow links once, from the root to all cluster leaders at the same time; inside the
// clusters, it then goes down a binomial tree (Storchi et al., section 3).
//
// Asynchronous variant, as in MPICH-G2 over LAM/MPI: all sends of a rank are posted at once and share the sender's
// port: 6 steps for 8 hosts. Blocking variant, their optimization: one child after another, 3 steps for 8 hosts.
#include "algorithms/passing.hpp"

namespace scope {
namespace {

void send_to_all(Program& steps, const std::vector<int>& receivers, std::int64_t units) {
  for (const int receiver : receivers) steps.start_send(receiver, Space::work, 0, units);
  steps.wait_all();
  for (const int receiver : receivers) steps.receive(receiver, Space::incoming, 0, 0);
}

template <bool blocking>
Schedule cluster_by_cluster(const Problem& problem) {
  const auto local = std::make_shared<Tree>(problem.ranks());
  std::vector<int> leaders;
  for (const Branch& cluster : clusters(led_by(problem.network->tree(), problem.root))) {
    leaders.push_back(cluster.ranks.front());
    join_doubling(cluster.ranks, *local);
  }
  const auto across = std::make_shared<Tree>(problem.ranks());
  join_star(leaders, *across);
  const auto program = [=, units = problem.units](Program& steps, int rank) {
    if (across->parent[rank] >= 0) receive_confirmed(steps, across->parent[rank], units);
    send_to_all(steps, across->children[rank], units);
    if (blocking) {
      pass_blocking(steps, *local, rank, units);
      return;
    }
    if (local->parent[rank] >= 0) receive_confirmed(steps, local->parent[rank], units);
    send_to_all(steps, local->children[rank], units);
  };
  return {program};
}

const Registration asynchronous{
    {.operation = Operation::broadcast, .name = "multilevel_asynchronous", .make = cluster_by_cluster<false>}};
const Registration blocking{
    {.operation = Operation::broadcast, .name = "multilevel_blocking", .make = cluster_by_cluster<true>}};

}  // namespace
}  // namespace scope
