// Inside a cluster, all ranks exchange directly. Two clusters exchange one message in each direction: the leaders
// collect their cluster's data for the other cluster, exchange them, and distribute them (MagPIe, Kielmann et
// al. 1999). If all hosts form one cluster, hosts take the place of clusters.
#include "algorithms/passing.hpp"

namespace scope {
namespace {

struct Parties {
  std::vector<std::vector<int>> members;
  std::vector<std::int64_t> begin;  // first position of a party in the order
  std::vector<int> party_of;        // party of every rank
  std::vector<int> order;
};

std::shared_ptr<Parties> parties_of(const Problem& problem) {
  std::vector<Branch> found = clusters(problem.network->tree());
  if (found.size() == 1 && found.front().cluster) {
    std::vector<Branch> hosts = found.front().parts;
    found = std::move(hosts);
  }
  const auto parties = std::make_shared<Parties>();
  parties->party_of.resize(problem.ranks());
  for (const Branch& branch : found) {
    parties->begin.push_back(static_cast<std::int64_t>(parties->order.size()));
    for (const int rank : branch.ranks) {
      parties->party_of[rank] = static_cast<int>(parties->members.size());
      parties->order.push_back(rank);
    }
    parties->members.push_back(branch.ranks);
  }
  return parties;
}

const Registration alltoall_multilevel_exchange{{
    .operation = Operation::alltoall,
    .name = "multilevel_exchange",
    .make = [](const Problem& problem) -> Schedule {
      const auto parties = parties_of(problem);
      const auto program = [parties, units = problem.units](Program& steps, int rank) {
        const auto& [members, begin, party_of, order] = *parties;
        const int own = party_of[rank];
        const std::vector<int>& ours = members[own];
        const auto here = static_cast<std::int64_t>(ours.size());
        const auto all = static_cast<std::int64_t>(order.size());
        const std::int64_t away = all - here;
        const std::int64_t after = begin[own] + here;  // number of positions after ours in the order
        const int leader = ours.front();
        for (std::int64_t i = 0; i < here; ++i)
          if (ours[i] != rank) steps.start_receive(ours[i], Space::result, (begin[own] + i) * units, units);
        for (std::int64_t i = 0; i < here; ++i)
          if (ours[i] != rank) steps.start_send(ours[i], Space::input, (begin[own] + i) * units, units);
        if (away == 0) return steps.wait_all();
        // A leader's `work`: outgoing data by party and member; incoming data by party, sender and member;
        // then the data for each member.
        const auto outgoing = [&](std::size_t party) {  // index of a party among the others x our members
          return (begin[party] < begin[own] ? begin[party] : begin[party] - here) * here;
        };
        const std::int64_t arrived = away * here;
        const std::int64_t staged = 2 * away * here;
        if (rank != leader) {
          for (std::size_t party = 0; party < members.size(); ++party)
            if (static_cast<int>(party) != own)
              steps.start_send(leader, Space::input, begin[party] * units,
                               static_cast<std::int64_t>(members[party].size()) * units);
          if (begin[own] > 0) steps.start_receive(leader, Space::result, 0, begin[own] * units);
          if (after < all) steps.start_receive(leader, Space::result, after * units, (all - after) * units);
          return steps.wait_all();
        }
        for (std::size_t party = 0; party < members.size(); ++party) {
          if (static_cast<int>(party) == own) continue;
          const auto theirs = static_cast<std::int64_t>(members[party].size());
          steps.copy(Space::work, outgoing(party) * units, Space::input, begin[party] * units, theirs * units);
          for (std::int64_t i = 1; i < here; ++i)
            steps.start_receive(ours[i], Space::work, (outgoing(party) + i * theirs) * units, theirs * units);
        }
        steps.wait_all();
        for (std::size_t party = 0; party < members.size(); ++party)
          if (static_cast<int>(party) != own)
            steps.start_receive(members[party].front(), Space::work, (arrived + outgoing(party)) * units,
                                here * static_cast<std::int64_t>(members[party].size()) * units);
        for (std::size_t party = 0; party < members.size(); ++party)
          if (static_cast<int>(party) != own)
            steps.start_send(members[party].front(), Space::work, outgoing(party) * units,
                             here * static_cast<std::int64_t>(members[party].size()) * units);
        steps.wait_all();
        for (std::int64_t member = 0; member < here; ++member) {
          for (std::size_t party = 0; party < members.size(); ++party) {
            if (static_cast<int>(party) == own) continue;
            for (std::int64_t sender = 0; sender < static_cast<std::int64_t>(members[party].size()); ++sender) {
              const std::int64_t from = arrived + outgoing(party) + sender * here + member;
              const std::int64_t place = begin[party] + sender;
              if (member == 0)
                steps.copy(Space::result, place * units, Space::work, from * units, units);
              else
                steps.copy(Space::work,
                           (staged + member * away + (place < begin[own] ? place : place - here)) * units,
                           Space::work, from * units, units);
            }
          }
          if (member == 0) continue;
          const std::int64_t at = staged + member * away;
          if (begin[own] > 0) steps.start_send(ours[member], Space::work, at * units, begin[own] * units);
          if (after < all)
            steps.start_send(ours[member], Space::work, (at + begin[own]) * units, (all - after) * units);
        }
        steps.wait_all();
      };
      return {program, parties->order};
    },
}};

}  // namespace
}  // namespace scope
