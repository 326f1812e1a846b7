// The ranks of a launch by host.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"

namespace scope {

// The number of a host's first rank, which identifies its ranks.
inline int first_rank(const std::vector<std::string>& hosts, const std::string& host) {
  return static_cast<int>(std::find(hosts.begin(), hosts.end(), host) - hosts.begin());
}

class Hosts {
 public:
  // Ranks that pass the same name are on the same host. Collective; `world` must outlive this object.
  Hosts(const Communicator& world, const std::string& host) : Hosts(world, host, world.all_gather(host)) {}

  int number() const { return number_; }
  const Communicator& neighbors() const { return neighbors_; }  // the ranks of this rank's host
  bool leads() const { return neighbors_.root(); }              // whether this is the first rank of its host
  const Communicator& leaders() const {
    return leaders_ ? *leaders_ : world_;
  }  // the first ranks of all hosts; to be used only by them

 private:
  // `hosts`: the hosts of all ranks, in rank order.
  Hosts(const Communicator& world, const std::string& host, const std::vector<std::string>& hosts)
      : world_(world),
        number_(static_cast<int>(std::set(hosts.begin(), hosts.end()).size())),
        neighbors_(Communicator::split(world, first_rank(hosts, host), world.rank())) {
    if (number_ < world.size()) leaders_.emplace(Communicator::split(world, leads() ? 0 : 1, world.rank()));
  }

  const Communicator& world_;
  int number_;
  Communicator neighbors_;
  std::optional<Communicator> leaders_;  // if they are not the world
};

}  // namespace scope
