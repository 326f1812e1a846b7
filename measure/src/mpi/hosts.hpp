// The ranks of a launch by host.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"

namespace scope {

class Hosts {
 public:
  // Ranks that say the same name share a host. Collective; `world` must outlive it.
  Hosts(const Communicator& world, const std::string& host);

  int number() const { return number_; }
  const Communicator& neighbors() const { return neighbors_; }  // the ranks of this rank's host
  bool leads() const { return neighbors_.root(); }              // whether this is the first rank of its host
  const Communicator& leaders() const {
    return leaders_ ? *leaders_ : world_;
  }  // of all hosts; of use to these only

 private:
  // `hosts`: of every rank, in rank order.
  Hosts(const Communicator& world, const std::string& host, const std::vector<std::string>& hosts);

  const Communicator& world_;
  int number_;
  Communicator neighbors_;
  std::optional<Communicator> leaders_;  // where they are not the world
};

}  // namespace scope
