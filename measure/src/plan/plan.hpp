// The cases of one launch, in the order in which they run.
#pragma once

#include <fstream>
#include <iterator>
#include <sstream>

#include "registry.hpp"
#include "sampling/sampler.hpp"

namespace scope {

struct PlannedCase {
  int position;
  const Registered* benchmark;
  Parameters parameters;
  SamplingPolicy policy;
};

// Empty if the file cannot be read, as a plan without cases is refused anyway.
inline std::string read_on_root(const std::string& path, const Communicator& world) {
  std::string text;
  if (world.root()) {
    std::ifstream file(path);
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  return world.broadcast(std::move(text), 0);
}

inline double number(const std::string& key, const std::string& text, double minimum, double maximum) {
  const auto value = number_in<double>(text);
  if (value && *value >= minimum && *value <= maximum) return *value;
  throw std::invalid_argument(sentence({key, "=", text, ": must be a number from ", minimum, " to ", maximum}));
}

// The methods that a plan may request.
inline const Names<Synchronization> common_starts = {{Synchronization::dissemination, "dissemination"},
                                                     {Synchronization::window, "window"}};

inline void set_reserved(PlannedCase& item, const std::string& key, const std::string& value) {
  SamplingPolicy& policy = item.policy;
  if (key == "case.position") {
    item.position = static_cast<int>(number(key, value, 0, 1e9));
  } else if (key == "sampling.budget_s") {
    policy.budget_s = number(key, value, 0, 1e6);
  } else if (key == "sampling.precision") {
    policy.precision = number(key, value, 0, 1);
  } else if (key == "sampling.minimum_repetitions") {
    policy.minimum_repetitions = static_cast<int>(number(key, value, 1, 1e7));
  } else if (key == "sampling.maximum_repetitions") {
    policy.maximum_repetitions = static_cast<int>(number(key, value, 1, 1e7));
  } else if (key == "sampling.warmup") {
    policy.warmup = static_cast<int>(number(key, value, 0, 1e7));
  } else if (key == "sampling.minimum_span_s") {
    policy.minimum_span_s = number(key, value, 0, 1e6);
  } else if (key == "sampling.complete") {
    policy.complete = number(key, value, 0, 1) == 1;
  } else if (key == "sampling.synchronization") {
    policy.synchronization = named(common_starts, key, value);
  } else {
    throw std::invalid_argument(
        "unknown key " + key + "=" + value +
        ": must be case.position, sampling.budget_s, sampling.precision, sampling.minimum_repetitions, "
        "sampling.maximum_repetitions, sampling.warmup, sampling.minimum_span_s, sampling.complete or "
        "sampling.synchronization");
  }
}

inline PlannedCase parse_line(const std::string& line, int position, int ranks) {
  std::istringstream words(line);
  std::string name;
  words >> name;
  const Registered& benchmark = find_benchmark(name);
  const Declaration& declaration = benchmark.declaration;
  PlannedCase item{position, &benchmark, Parameters({}, {}), {}};
  std::map<std::string, std::string> values;
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) throw std::invalid_argument(word + ": must be written key=value");
    const std::string key = word.substr(0, equals);
    const std::string value = word.substr(equals + 1);
    if (key.starts_with("sampling.") || key.starts_with("case."))
      set_reserved(item, key, value);
    else
      values[key] = value;
  }
  if (!declaration.ranks.allow(ranks))
    throw std::invalid_argument(
        sentence({declaration.name, " on ranks=", ranks, ": must be ", declaration.ranks.description()}));
  item.parameters = parse_parameters(declaration, values);
  return item;
}

// Reads the file on rank 0 and gives every rank the same plan. A line is `name key=value ...`; keys that begin
// with `sampling.` or `case.` are for the program, all others for the benchmark; `#` begins a comment. Throws
// std::invalid_argument on every rank, naming file, line, key, value and allowed values. Collective.
inline std::vector<PlannedCase> read_plan(const std::string& path, const Communicator& world) {
  std::istringstream text(read_on_root(path, world));
  std::vector<PlannedCase> cases;
  int number_of_line = 0;
  for (std::string line; std::getline(text, line);) {
    ++number_of_line;
    if (line.empty() || line.front() == '#') continue;
    try {
      cases.push_back(parse_line(line, static_cast<int>(cases.size()), world.size()));
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(sentence({path, ":", number_of_line, ": ", error.what()}));
    }
  }
  if (cases.empty()) throw std::invalid_argument(path + ": the file cannot be read or contains no case");
  return cases;
}

// Every benchmark that can run on this many ranks, once, with its default parameters.
inline std::vector<PlannedCase> default_plan(int ranks) {
  std::vector<PlannedCase> cases;
  for (const auto& benchmark : registry()) {
    if (!benchmark.declaration.ranks.allow(ranks)) continue;
    cases.push_back({static_cast<int>(cases.size()), &benchmark, parse_parameters(benchmark.declaration, {}), {}});
  }
  return cases;
}

}  // namespace scope
