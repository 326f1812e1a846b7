#include "network.hpp"

#include <algorithm>
#include <map>

namespace scope {

namespace {

constexpr int no_resource = -1;

// The paths from one host to the root of the topology, and the resources on them.
struct Port {
  int out = no_resource;
  int in = no_resource;
  double extra_latency_s = 0;  // beyond its group's
  std::vector<int> groups;     // leaf first, root last
};

struct GroupResources {
  int medium = no_resource;
  int out = no_resource;
  int in = no_resource;
};

int known_as(const Topology& topology, const std::string& host, std::string& name) {
  name = host;
  if (const int group = topology.group_of_host(name); group >= 0) return group;
  name = host.substr(0, host.find('.'));
  return topology.group_of_host(name);
}

// Parts of a branch become its ranks; a branch of one part is that part.
Branch joined(std::vector<Branch> parts, bool host, bool cluster) {
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

}  // namespace

Network::Network(const Topology& topology, const std::vector<std::string>& hosts) {
  const auto resource = [&](std::string name, double rate) {
    resources_.push_back({std::move(name), rate});
    return static_cast<int>(resources_.size()) - 1;
  };

  std::vector<GroupResources> shared(topology.groups.size());
  for (std::size_t i = 0; i < topology.groups.size(); ++i) {
    const Group& group = topology.groups[i];
    if (group.shared) shared[i].medium = resource(group.name + " medium", group.bandwidth_bytes_per_s);
    if (group.uplink_bytes_per_s && !group.parent.empty()) {
      shared[i].out =
          resource(group.name + (group.half_duplex ? " uplink" : " out"), *group.uplink_bytes_per_s);
      shared[i].in =
          group.half_duplex ? shared[i].out : resource(group.name + " in", *group.uplink_bytes_per_s);
    }
  }

  std::map<std::string, int> numbers;
  std::vector<std::string> names;
  std::vector<Port> ports;
  std::vector<std::vector<int>> ranks_on;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    std::string name;
    const int leaf = known_as(topology, hosts[rank], name);
    if (leaf < 0)
      throw TopologyError("host \"" + hosts[rank] + "\" is in no group: a topology file for other hosts");
    const auto [found, fresh] = numbers.emplace(name, static_cast<int>(ports.size()));
    if (fresh) {
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
      for (int at = leaf; at >= 0; at = topology.group_of(topology.groups[at].parent))
        port.groups.push_back(at);
      ports.push_back(std::move(port));
      names.push_back(name);
      ranks_on.emplace_back();
    }
    host_of_.push_back(found->second);
    ranks_on[found->second].push_back(static_cast<int>(rank));
  }

  const HostFigures inside = topology.host.value_or(HostFigures{});
  routes_.assign(ports.size(), std::vector<Route>(ports.size()));
  for (std::size_t from = 0; from < ports.size(); ++from)
    for (std::size_t to = 0; to < ports.size(); ++to) {
      Route& route = routes_[from][to];
      if (from == to) {
        route = {{}, inside.latency_s, inside.bandwidth_bytes_per_s, true};
        continue;
      }
      const std::vector<int>& up = ports[from].groups;
      const std::vector<int>& down = ports[to].groups;
      std::size_t common = 0;  // groups above both
      while (common < up.size() && common < down.size() &&
             up[up.size() - 1 - common] == down[down.size() - 1 - common])
        ++common;
      const Group& joining = topology.groups[up[up.size() - common]];
      route.latency_s =
          std::max(0.0, joining.latency_s + ports[from].extra_latency_s + ports[to].extra_latency_s);
      route.limit_bytes_per_s = joining.bandwidth_bytes_per_s;
      route.resources = {ports[from].out, ports[to].in};
      const auto pass = [&](int which) {
        if (which != no_resource) route.resources.push_back(which);
      };
      for (std::size_t i = 0; i + common < up.size(); ++i) {
        pass(shared[up[i]].medium);
        pass(shared[up[i]].out);
      }
      for (std::size_t i = 0; i + common < down.size(); ++i) {
        pass(shared[down[i]].medium);
        pass(shared[down[i]].in);
      }
      pass(shared[up[up.size() - common]].medium);
    }

  // The branch of every group, leaves first, and the resources of its cut.
  std::vector<Branch> hosts_of;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    std::vector<Branch> processes;
    for (const int rank : ranks_on[i]) processes.push_back({{rank}, {}, false, false});
    hosts_of.push_back(joined(std::move(processes), true, false));
    cuts_.push_back({names[i], hosts_of.back().ranks, ports[i].in, ports[i].out, no_resource, {}});
  }
  const auto branch_of = [&](const auto& self, int index) -> Branch {
    const Group& group = topology.groups[index];
    std::vector<Branch> parts;
    for (std::size_t i = 0; i < ports.size(); ++i)
      if (ports[i].groups.front() == index) parts.push_back(hosts_of[i]);
    for (std::size_t child = 0; child < topology.groups.size(); ++child)
      if (topology.groups[child].parent == group.name)
        if (Branch part = self(self, static_cast<int>(child)); !part.ranks.empty())
          parts.push_back(std::move(part));
    if (parts.empty()) return {};
    Cut cut{group.name, {}, shared[index].in, shared[index].out, shared[index].medium, {}};
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

double Network::bytes_per_s(int from, int to) const {
  const Route& way = route(from, to);
  double rate = way.limit_bytes_per_s;
  for (const int each : way.resources) rate = std::min(rate, resources_[each].bytes_per_s);
  return rate;
}

}  // namespace scope
