#include "mpi/hosts.hpp"

#include <algorithm>
#include <set>

namespace scope {

Hosts::Hosts(const Communicator& world, const std::string& host)
    : world_(world), neighbours_([&] {
        const auto hosts = world.all_gather(host);
        number_ = static_cast<int>(std::set(hosts.begin(), hosts.end()).size());
        // The ranks of a host get the number of its first rank.
        const auto first = std::find(hosts.begin(), hosts.end(), host) - hosts.begin();
        return Communicator::split(world, static_cast<int>(first), world.rank());
      }()) {
  if (number_ < world.size()) leaders_.emplace(Communicator::split(world, leads() ? 0 : 1, world.rank()));
}

}  // namespace scope
