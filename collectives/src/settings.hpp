// The user's settings from the environment, and messages printed by rank 0.
#pragma once

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "algorithms.hpp"
#include "library.hpp"

namespace scope {

struct Settings {
  std::string topology;                     // SCOPE_TOPOLOGY: a file; without it, MPI executes all collectives
  std::vector<std::string> hosts;           // SCOPE_TOPOLOGY_HOSTS: the host of every rank, for tests
  std::string choices;                      // SCOPE_COLLECTIVES: operation=algorithm,…
  std::map<Operation, std::string> forced;  // the algorithm of each operation in `choices`
  std::int64_t segment_bytes = 0;           // SCOPE_COLLECTIVES_SEGMENT; 0: chosen by the estimate
  std::string log;                          // SCOPE_COLLECTIVES_LOG: file to log decisions to
};

inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

inline std::vector<std::string> list_of(const std::string& text) {
  std::vector<std::string> items;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');)
    if (!item.empty()) items.push_back(item);
  return items;
}

// Accepts an algorithm of Scope, the MPI library's own, or the choice of another library.
inline void check_algorithm(const std::string& item, Operation operation, const std::string& name) {
  const std::optional<Library> other = library_named(name);
  if (name == "library" || (other && has_rules(operation, *other)) || find_algorithm(operation, name)) return;
  std::string allowed = "library";
  for (int i = 0; i < library_count; ++i)
    if (const auto library = static_cast<Library>(i); has_rules(operation, library))
      allowed += ", " + std::string(name_of(library));
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.operation == operation) allowed += ", " + std::string(algorithm.name);
  throw std::invalid_argument("SCOPE_COLLECTIVES: " + item + ": no such algorithm; allowed: " + allowed);
}

// The algorithms in SCOPE_COLLECTIVES. Throws like `read_settings`.
inline std::map<Operation, std::string> forced_by(const std::string& choices) {
  std::map<Operation, std::string> forced;
  for (const std::string& item : list_of(choices)) {
    const auto equals = item.find('=');
    if (equals == std::string::npos)
      throw std::invalid_argument("SCOPE_COLLECTIVES: " + item + ": must be written operation=algorithm");
    const Operation operation =
        operation_named("SCOPE_COLLECTIVES: " + item + ": no such operation", item.substr(0, equals));
    forced[operation] = item.substr(equals + 1);
    check_algorithm(item, operation, forced[operation]);
  }
  return forced;
}

// Reads the environment. Throws std::invalid_argument with one line for an invalid name or number.
inline Settings read_settings() {
  Settings settings;
  settings.topology = variable("SCOPE_TOPOLOGY");
  settings.hosts = list_of(variable("SCOPE_TOPOLOGY_HOSTS"));
  settings.log = variable("SCOPE_COLLECTIVES_LOG");
  settings.choices = variable("SCOPE_COLLECTIVES");
  settings.forced = forced_by(settings.choices);
  if (const std::string text = variable("SCOPE_COLLECTIVES_SEGMENT"); !text.empty()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), settings.segment_bytes);
    if (error != std::errc() || end != text.data() + text.size() || settings.segment_bytes < 1)
      throw std::invalid_argument("SCOPE_COLLECTIVES_SEGMENT = " + text + ": must be an integer above 0");
  }
  return settings;
}

// Writes one line to standard error.
inline void complain(const std::string& what) {
  std::fprintf(stderr, "scope-collectives: %s; MPI's own collectives are used\n", what.c_str());
}

}  // namespace scope
