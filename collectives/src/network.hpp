// The places of a communicator's ranks, and the resources of a message between two of them.
#pragma once

#include <string>
#include <vector>

#include "topology.hpp"

namespace scope {

// The resources that a transfer occupies, and its rate alone.
struct Route {
  std::vector<int> resources;  // ports, shared media and uplinks
  double latency_s = 0;
  double limit_bytes_per_s = 0;
  bool local = false;  // inside one host
};

// A resource that concurrent transfers share, max-min fairly.
struct Resource {
  std::string name;
  double bytes_per_s;
};

// Ranks that are near each other; a tree down to single ranks. Levels with only one part are left out.
struct Branch {
  std::vector<int> ranks;  // all of them, the parts' one after another
  std::vector<Branch> parts;
  bool host = false;     // its parts are the processes of one host
  bool cluster = false;  // its parts are the hosts of one leaf group
};

// The traffic that must pass in each direction between some ranks and the others.
struct Cut {
  std::string name;
  std::vector<int> inside;
  int in = -1;      // resource for incoming traffic
  int out = -1;     // for outgoing traffic; the same one for half duplex
  int medium = -1;  // resource for all traffic between the parts
  std::vector<std::vector<int>> parts;
};

class Network {
 public:
  // `hosts`: one name per rank; a name with a domain is also found without the domain.
  // Throws TopologyError where the topology does not know a host.
  Network(const Topology& topology, const std::vector<std::string>& hosts);

  int size() const { return static_cast<int>(host_of_.size()); }
  // Valid as long as the network.
  const Route& route(int from, int to) const { return routes_from(host_of_[from])[host_of_[to]]; }
  double bytes_per_s(int from, int to) const;  // of a single transfer, alone
  const std::vector<Resource>& resources() const { return resources_; }
  const Branch& tree() const { return tree_; }
  bool one_host() const { return ports_.size() <= 1; }
  // Ports, groups with an uplink and shared media, for lower bounds.
  const std::vector<Cut>& cuts() const { return cuts_; }

 private:
  static constexpr int no_resource = -1;

  // The path from one host to the root of the topology, and the resources on it.
  struct Port {
    int out = no_resource;
    int in = no_resource;
    double extra_latency_s = 0;  // beyond its group's
    std::vector<int> groups;     // leaf first, root last
  };

  struct Links {
    double latency_s = 0;
    double bytes_per_s = 0;
    int medium = no_resource;
    int out = no_resource;
    int in = no_resource;
  };

  Route found_route(const Port& from, const Port& to) const;
  const std::vector<Route>& routes_from(int host) const;

  std::vector<int> host_of_;  // of every rank, numbered as they first appear
  std::vector<Port> ports_;   // of every host
  std::vector<Links> links_;  // of every group
  HostFigures inside_;
  // To every host, from those that were asked for: who estimates nothing needs few, and thousands of hosts have
  // millions of pairs.
  mutable std::vector<std::vector<Route>> routes_;
  std::vector<Resource> resources_;
  std::vector<Cut> cuts_;
  Branch tree_;
};

}  // namespace scope
