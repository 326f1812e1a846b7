// The user's settings from the environment, and messages of rank 0.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "algorithms.hpp"

namespace scope {

struct Settings {
  std::string topology;                     // SCOPE_TOPOLOGY: a file; without it all collectives are the library's
  std::vector<std::string> hosts;           // SCOPE_TOPOLOGY_HOSTS: the host of every rank, for tests
  std::string choices;                      // SCOPE_COLLECTIVES: operation=algorithm,…
  std::map<Operation, std::string> forced;  // the algorithm of each operation that these name
  std::int64_t segment_bytes = 0;           // SCOPE_COLLECTIVES_SEGMENT; 0: by the estimate
  std::string log;                          // SCOPE_COLLECTIVES_LOG: a file for the decisions
};

// Reads the environment. Throws std::invalid_argument, one line, for an invalid name or number.
Settings read_settings();

// The algorithms that SCOPE_COLLECTIVES names. Throws as `read_settings`.
std::map<Operation, std::string> forced_by(const std::string& choices);

// One line on standard error.
void complain(const std::string& what);

}  // namespace scope
