// The contents of a topology file: groups of hosts, their links, and latencies and bandwidths.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace scope {

// An error of one line that names file, key, value and the allowed values.
struct TopologyError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Latency and bandwidth between two ranks of one host.
struct HostFigures {
  double latency_s = 1e-6;
  double bandwidth_bytes_per_s = 5e9;
};

// Hosts on one switch or bus, or groups joined by a network.
struct Group {
  std::string name;
  std::string level;   // cluster, lan, wan
  std::string parent;  // empty for the root
  std::vector<std::string> hosts;
  bool shared = false;  // whether all traffic inside shares the bandwidth
  double latency_s = 0;
  double bandwidth_bytes_per_s = 0;
  std::optional<double> uplink_bytes_per_s;  // absent if it is never a limit
  bool half_duplex = false;                  // whether the uplink is half duplex
};

// A host whose port differs from the other ports of its group.
struct Exception {
  std::string host;
  std::optional<double> bandwidth_bytes_per_s;
  std::optional<double> latency_s;
};

struct Topology {
  std::optional<HostFigures> host;
  std::vector<Group> groups;  // a tree; parents need not come first
  std::vector<Exception> exceptions;

  int group_of(const std::string& name) const;       // -1 if there is none
  int group_of_host(const std::string& host) const;  // -1 if there is none
};

// Reads the text of a topology file (format 1), strictly. Throws TopologyError.
Topology parse_topology(const std::string& text, const std::string& file);

}  // namespace scope
