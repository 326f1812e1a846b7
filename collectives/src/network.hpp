// The places of a communicator's ranks, and the resources used by a message between two ranks.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "topology.hpp"

namespace scope {

// The resources that a transfer uses, and its rate without other traffic.
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

// Ranks that are near each other, as a tree down to single ranks. Levels with only one part are left out.
struct Branch {
  std::vector<int> ranks;  // all ranks, one part after another
  std::vector<Branch> parts;
  bool host = false;     // whether its parts are the ranks of one host
  bool cluster = false;  // whether its parts are the hosts of one leaf group
};

// A cut between some ranks and all others, with the resources that traffic in each direction must pass.
struct Cut {
  std::string name;
  std::vector<int> inside;
  int in = -1;      // resource for incoming traffic
  int out = -1;     // resource for outgoing traffic; the same as `in` for half duplex
  int medium = -1;  // resource for all traffic between the parts
  std::vector<std::vector<int>> parts;
};

inline int known_as(const Topology& topology, const std::string& host, std::string& name) {
  name = host;
  if (const int group = topology.group_of_host(name); group >= 0) return group;
  name = host.substr(0, host.find('.'));
  return topology.group_of_host(name);
}

// Joins parts into a branch; a single part is returned as it is.
inline Branch joined(std::vector<Branch> parts, bool host, bool cluster) {
  if (parts.size() == 1) return std::move(parts.front());
  std::sort(parts.begin(), parts.end(), [](const Branch& one, const Branch& other) {
    return *std::min_element(one.ranks.begin(), one.ranks.end()) <
           *std::min_element(other.ranks.begin(), other.ranks.end());
  });
  Branch branch{{}, std::move(parts), host, cluster};
  for (const Branch& part : branch.parts)
    branch.ranks.insert(branch.ranks.end(), part.ranks.begin(), part.ranks.end());
  return branch;
}

class Network {
 public:
  // `hosts`: one name per rank; a name with a domain is also found without the domain.
  // Throws TopologyError if the topology does not contain a host.
  Network(const Topology& topology, const std::vector<std::string>& hosts) {
    const auto resource = [&](std::string name, double rate) {
      resources_.push_back({std::move(name), rate});
      return static_cast<int>(resources_.size()) - 1;
    };

    for (const Group& group : topology.groups) {
      Links& links = links_.emplace_back(Links{group.latency_s, group.bandwidth_bytes_per_s});
      if (group.shared) links.medium = resource(group.name + " medium", group.bandwidth_bytes_per_s);
      if (group.uplink_bytes_per_s && !group.parent.empty()) {
        links.out = resource(group.name + (group.half_duplex ? " uplink" : " out"), *group.uplink_bytes_per_s);
        links.in = group.half_duplex ? links.out : resource(group.name + " in", *group.uplink_bytes_per_s);
      }
    }

    std::map<std::string, int> numbers;
    std::vector<std::string> names;
    std::vector<std::vector<int>> ranks_on;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      std::string name;
      const int leaf = known_as(topology, hosts[rank], name);
      if (leaf < 0)
        throw TopologyError("host \"" + hosts[rank] + "\" is in no group: the file is for other hosts");
      const auto [found, fresh] = numbers.emplace(hosts[rank], static_cast<int>(ports_.size()));
      if (fresh) {
        // Names in two domains are two hosts, even if the file has only one of them, by its short name.
        if (std::find(names.begin(), names.end(), name) != names.end())
          throw TopologyError("hosts of several domains are \"" + name + "\": the file is for other hosts");
        const Group& group = topology.groups[leaf];
        Port port;
        double rate = group.bandwidth_bytes_per_s;
        for (const Exception& exception : topology.exceptions)
          if (exception.host == name) {
            rate = exception.bandwidth_bytes_per_s.value_or(rate);
            port.extra_latency_s = exception.latency_s.value_or(group.latency_s) - group.latency_s;
          }
        port.out = resource(name + " out", rate);
        port.in = resource(name + " in", rate);
        for (int at = leaf; at >= 0; at = topology.group_of(topology.groups[at].parent)) port.groups.push_back(at);
        ports_.push_back(std::move(port));
        names.push_back(name);
        ranks_on.emplace_back();
      }
      host_of_.push_back(found->second);
      ranks_on[found->second].push_back(static_cast<int>(rank));
    }

    inside_ = topology.host.value_or(HostFigures{});
    routes_.resize(ports_.size());

    // The branch of every group, leaves first, and the resources of the group's cut.
    std::vector<Branch> hosts_of;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      std::vector<Branch> processes;
      for (const int rank : ranks_on[i]) processes.push_back({{rank}, {}, false, false});
      hosts_of.push_back(joined(std::move(processes), true, false));
      cuts_.push_back({names[i], hosts_of.back().ranks, ports_[i].in, ports_[i].out, no_resource, {}});
    }
    const auto branch_of = [&](const auto& self, int index) -> Branch {
      const Group& group = topology.groups[index];
      std::vector<Branch> parts;
      for (std::size_t i = 0; i < ports_.size(); ++i)
        if (ports_[i].groups.front() == index) parts.push_back(hosts_of[i]);
      for (std::size_t child = 0; child < topology.groups.size(); ++child)
        if (topology.groups[child].parent == group.name)
          if (Branch part = self(self, static_cast<int>(child)); !part.ranks.empty())
            parts.push_back(std::move(part));
      if (parts.empty()) return {};
      Cut cut{group.name, {}, links_[index].in, links_[index].out, links_[index].medium, {}};
      for (const Branch& part : parts) {
        cut.parts.push_back(part.ranks);
        cut.inside.insert(cut.inside.end(), part.ranks.begin(), part.ranks.end());
      }
      cuts_.push_back(std::move(cut));
      return joined(std::move(parts), false, !group.hosts.empty());
    };
    for (std::size_t i = 0; i < topology.groups.size(); ++i)
      if (topology.groups[i].parent.empty()) tree_ = branch_of(branch_of, static_cast<int>(i));
  }

  int size() const { return static_cast<int>(host_of_.size()); }
  // Valid as long as the network exists.
  const Route& route(int from, int to) const { return routes_from(host_of_[from])[host_of_[to]]; }
  // The rate of a single transfer without other traffic.
  double bytes_per_s(int from, int to) const {
    const Route& way = route(from, to);
    double rate = way.limit_bytes_per_s;
    for (const int resource : way.resources) rate = std::min(rate, resources_[resource].bytes_per_s);
    return rate;
  }
  const std::vector<Resource>& resources() const { return resources_; }
  const Branch& tree() const { return tree_; }
  bool one_host() const { return ports_.size() <= 1; }
  // Cuts at ports, groups with an uplink and shared media, for lower bounds.
  const std::vector<Cut>& cuts() const { return cuts_; }

 private:
  static constexpr int no_resource = -1;

  // The path from one host to the root of the topology, and the resources on it.
  struct Port {
    int out = no_resource;
    int in = no_resource;
    double extra_latency_s = 0;  // in addition to the group's
    std::vector<int> groups;     // leaf first, root last
  };

  struct Links {
    double latency_s = 0;
    double bytes_per_s = 0;
    int medium = no_resource;
    int out = no_resource;
    int in = no_resource;
  };

  Route found_route(const Port& from, const Port& to) const {
    if (&from == &to) return {{}, inside_.latency_s, inside_.bandwidth_bytes_per_s, true};
    const std::vector<int>& up = from.groups;
    const std::vector<int>& down = to.groups;
    std::size_t common = 0;  // number of groups that contain both
    while (common < up.size() && common < down.size() &&
           up[up.size() - 1 - common] == down[down.size() - 1 - common])
      ++common;
    const Links& joining = links_[up[up.size() - common]];
    Route route;
    route.latency_s = std::max(0.0, joining.latency_s + from.extra_latency_s + to.extra_latency_s);
    route.limit_bytes_per_s = joining.bytes_per_s;
    route.resources = {from.out, to.in};
    const auto pass = [&](int which) {
      if (which != no_resource) route.resources.push_back(which);
    };
    for (std::size_t i = 0; i + common < up.size(); ++i) {
      pass(links_[up[i]].medium);
      pass(links_[up[i]].out);
    }
    for (std::size_t i = 0; i + common < down.size(); ++i) {
      pass(links_[down[i]].medium);
      pass(links_[down[i]].in);
    }
    pass(joining.medium);
    return route;
  }
  const std::vector<Route>& routes_from(int host) const {
    std::vector<Route>& routes = routes_[static_cast<std::size_t>(host)];
    if (routes.empty())
      for (const Port& to : ports_) routes.push_back(found_route(ports_[static_cast<std::size_t>(host)], to));
    return routes;
  }

  std::vector<int> host_of_;  // host of every rank, numbered by first appearance
  std::vector<Port> ports_;   // port of every host
  std::vector<Links> links_;  // links of every group
  HostFigures inside_;
  // Routes to every host, only from hosts that were asked for: without estimates, few are needed, and thousands of
  // hosts have millions of pairs.
  mutable std::vector<std::vector<Route>> routes_;
  std::vector<Resource> resources_;
  std::vector<Cut> cuts_;
  Branch tree_;
};

}  // namespace scope
