#include "mpi/hosts.hpp"

#include <algorithm>
#include <set>

namespace scope {
namespace {

// The ranks of a host are known by the number of its first rank.
int first_rank(const std::vector<std::string>& hosts, const std::string& host) {
  return static_cast<int>(std::find(hosts.begin(), hosts.end(), host) - hosts.begin());
}

}  // namespace

Hosts::Hosts(const Communicator& world, const std::string& host) : Hosts(world, host, world.all_gather(host)) {}

Hosts::Hosts(const Communicator& world, const std::string& host, const std::vector<std::string>& hosts)
    : world_(world),
      number_(static_cast<int>(std::set(hosts.begin(), hosts.end()).size())),
      neighbors_(Communicator::split(world, first_rank(hosts, host), world.rank())) {
  if (number_ < world.size()) leaders_.emplace(Communicator::split(world, leads() ? 0 : 1, world.rank()));
}

}  // namespace scope
