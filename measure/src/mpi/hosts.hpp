// The ranks of a launch by host.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"

namespace scope {

// The ranks of a host are known by the number of its first rank.
inline int first_rank(const std::vector<std::string>& hosts, const std::string& host) {
  return static_cast<int>(std::find(hosts.begin(), hosts.end(), host) - hosts.begin());
}

class Hosts {
 public:
  // Ranks that say the same name share a host. Collective; `world` must outlive it.
  Hosts(const Communicator& world, const std::string& host) : Hosts(world, host, world.all_gather(host)) {}

  int number() const { return number_; }
  const Communicator& neighbors() const { return neighbors_; }  // the ranks of this rank's host
  bool leads() const { return neighbors_.root(); }              // whether this is the first rank of its host
  const Communicator& leaders() const {
    return leaders_ ? *leaders_ : world_;
  }  // of all hosts; of use to these only

 private:
  // `hosts`: of every rank, in rank order.
  Hosts(const Communicator& world, const std::string& host, const std::vector<std::string>& hosts)
      : world_(world),
        number_(static_cast<int>(std::set(hosts.begin(), hosts.end()).size())),
        neighbors_(Communicator::split(world, first_rank(hosts, host), world.rank())) {
    if (number_ < world.size()) leaders_.emplace(Communicator::split(world, leads() ? 0 : 1, world.rank()));
  }

  const Communicator& world_;
  int number_;
  Communicator neighbors_;
  std::optional<Communicator> leaders_;  // where they are not the world
};

}  // namespace scope
