// MPICH: binomial below 12 KiB or 8 ranks, else scatter and allgather: by doubling up to 512 KiB for powers of
// two, else by a ring (Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005; MPIR_CVAR_BCAST_*). If hosts have several
// ranks, first between one rank of each host, except with a ring.
#include "library/phases.hpp"
#include "library/rules.hpp"

namespace scope {

Schedule mpich_broadcast(const Problem& problem) {
  const std::int64_t bytes = problem.units * problem.unit_bytes;
  const int ranks = problem.ranks();
  const Hosts hosts = hosts_of(problem);
  const Phase inside = broadcast_whole(problem, hosts.inside, true);
  const bool long_message = bytes >= 12288 && ranks >= 8;
  if (long_message && (whole_power_of_two(ranks) != ranks || bytes >= 524288))
    return scheduled({broadcast_scattered(problem, around(ranks, problem.root), true)});
  if (!long_message || hosts.leaders.size() < 8)
    return scheduled({broadcast_whole(problem, hosts.leaders, join_halving, true), inside});
  return scheduled(
      {broadcast_scattered(problem, hosts.leaders, !std::has_single_bit(hosts.leaders.size())), inside});
}

}  // namespace scope
