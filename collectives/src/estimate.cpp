// scope-estimate TOPOLOGY OPERATION BYTES --hosts a,a,b,… [--root R] [--segment BYTES] [--library
// openmpi4|openmpi5|mpich]
//
// Prints one JSON object per line: every algorithm of the operation with its best settings, the MPI library's own,
// and the physical limit; `chosen` is the one that the collectives would use.
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "choice.hpp"
#include "estimator.hpp"
#include "json/json.hpp"

namespace scope {

namespace {

using UsageError = std::invalid_argument;

constexpr const char* usage_text =
    "usage: scope-estimate TOPOLOGY OPERATION BYTES --hosts a,a,b,... [--root R] [--segment BYTES] "
    "[--library openmpi4|openmpi5|mpich]";

struct Asked {
  std::string topology;
  Operation operation{};
  std::int64_t bytes = 0;
  std::vector<std::string> hosts;
  int root = 0;
  std::int64_t segment_bytes = 0;
  Library library = this_library();
};

std::int64_t number(const std::string& name, const std::string& text, std::int64_t least) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least)
    throw UsageError(name + " " + text + ": must be an integer of at least " + std::to_string(least));
  return value;
}

Asked read(int count, char** words) {
  Asked asked;
  std::vector<std::string> places;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (!word.starts_with("--")) {
      places.push_back(word);
      continue;
    }
    if (++i == count) throw UsageError(word + " needs a value; " + usage_text);
    const std::string value = words[i];
    if (word == "--hosts") {
      std::istringstream list(value);
      for (std::string host; std::getline(list, host, ',');) asked.hosts.push_back(host);
    } else if (word == "--root") {
      asked.root = static_cast<int>(number(word, value, 0));
    } else if (word == "--segment") {
      asked.segment_bytes = number(word, value, 1);
    } else if (word == "--library") {
      const std::optional<Library> named = library_named(value);
      if (!named) throw UsageError("--library " + value + ": allowed: openmpi4, openmpi5, mpich");
      asked.library = *named;
    } else {
      throw UsageError(word + ": no such option; " + usage_text);
    }
  }
  if (places.size() != 3 || asked.hosts.empty()) throw UsageError(usage_text);
  asked.topology = places[0];
  asked.operation = operation_named("OPERATION " + places[1], places[1]);
  asked.bytes = number("BYTES", places[2], 0);
  if (asked.root >= static_cast<int>(asked.hosts.size()))
    throw UsageError("--root " + std::to_string(asked.root) + ": must be below the number of hosts");
  return asked;
}

using BytesOver = std::vector<std::pair<std::string, std::int64_t>>;

// The bytes over each trunk, i.e. over the uplinks of groups, not over the ports of hosts.
BytesOver bytes_over(const Problem& problem, const Schedule& schedule) {
  const Estimate simulated = simulate(problem, schedule);
  BytesOver members;
  for (const Cut& cut : problem.network->cuts())
    for (const auto& [which, direction] : {std::pair{cut.in, " in"}, {cut.out, " out"}, {cut.medium, " medium"}})
      if (!cut.parts.empty() && which >= 0 && simulated.carried[which] != 0)
        members.emplace_back(cut.name + direction, simulated.carried[which]);
  return members;
}

void print(const std::string& algorithm, const char* shape, double seconds, std::int64_t segment_bytes,
           bool chosen, const BytesOver& trunks) {
  Json json;
  json.object();
  json.member("algorithm", algorithm);
  json.member("shape", shape);
  json.member("seconds", seconds);
  json.member("segment_bytes", segment_bytes);
  json.member("chosen", chosen);
  json.object("bytes_over");
  for (const auto& [trunk, bytes] : trunks) json.member(trunk, bytes);
  json.end();
  json.end();
  std::puts(json.text().c_str());
}

void print(const Problem& problem, const Candidate& candidate, bool chosen, Library library) {
  if (!candidate.algorithm)
    return print("library", "", candidate.seconds, 0, chosen,
                 bytes_over(problem, library_schedule(problem, library)));
  const Algorithm& algorithm = *candidate.algorithm;
  const Problem solved = tuned(problem, candidate);
  print(algorithm.name, algorithm.shapes.size() > 1 ? name_of(candidate.shape) : "", candidate.seconds,
        algorithm.segmented ? candidate.segment_units : 0, chosen, bytes_over(solved, algorithm.make(solved)));
}

void estimate_all(const Asked& asked) {
  std::ifstream file(asked.topology);
  if (!file) throw UsageError(asked.topology + ": cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  const Network network(parse_topology(text.str(), asked.topology), asked.hosts);
  const Problem problem{asked.operation, &network, asked.root, asked.bytes};
  const std::vector<Candidate> all = candidates(problem, asked.library, asked.segment_bytes);
  for (const Candidate& candidate : all) print(problem, candidate, &candidate == &chosen(all), asked.library);
  print("limit", "", physical_limit(problem), 0, false, {});
}

}  // namespace

}  // namespace scope

int main(int count, char** words) {
  try {
    scope::estimate_all(scope::read(count, words));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "scope-estimate: " << error.what() << "\n";
    return 2;
  }
}
