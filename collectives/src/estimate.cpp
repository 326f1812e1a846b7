// scope-estimate TOPOLOGY OPERATION BYTES --hosts a,a,b,… [--root R] [--segment BYTES] [--library
// openmpi|mpich]
//
// One JSON object per line: every algorithm of the operation at its best, the library's own, and the physical
// limit.
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "choice.hpp"
#include "estimator.hpp"

namespace scope {

namespace {

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr const char* kUsage =
    "usage: scope-estimate TOPOLOGY OPERATION BYTES --hosts a,a,b,... [--root R] [--segment BYTES] "
    "[--library openmpi|mpich]";

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
    throw UsageError(name + " " + text + ": an integer of at least " + std::to_string(least) + " is allowed");
  return value;
}

Operation operation_named(const std::string& name) {
  std::string allowed;
  for (int i = 0; i < kOperations; ++i) {
    const char* each = name_of(static_cast<Operation>(i));
    if (name == each) return static_cast<Operation>(i);
    allowed += (i ? ", " : "") + std::string(each);
  }
  throw UsageError("OPERATION " + name + ": allowed: " + allowed);
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
    if (++i == count) throw UsageError(word + " needs a value; " + kUsage);
    const std::string value = words[i];
    if (word == "--hosts") {
      std::istringstream list(value);
      for (std::string host; std::getline(list, host, ',');) asked.hosts.push_back(host);
    } else if (word == "--root") {
      asked.root = static_cast<int>(number(word, value, 0));
    } else if (word == "--segment") {
      asked.segment_bytes = number(word, value, 1);
    } else if (word == "--library") {
      if (value != "openmpi" && value != "mpich")
        throw UsageError("--library " + value + ": allowed: openmpi, mpich");
      asked.library = value == "openmpi" ? Library::openmpi : Library::mpich;
    } else {
      throw UsageError(word + ": no such option; " + kUsage);
    }
  }
  if (places.size() != 3 || asked.hosts.empty()) throw UsageError(kUsage);
  asked.topology = places[0];
  asked.operation = operation_named(places[1]);
  asked.bytes = number("BYTES", places[2], 0);
  if (asked.root >= static_cast<int>(asked.hosts.size()))
    throw UsageError("--root " + std::to_string(asked.root) + ": below the number of hosts is allowed");
  return asked;
}

void print(const Problem& problem, const std::string& name, const char* shape, std::int64_t segment,
           double seconds, const Schedule& schedule) {
  std::printf(
      "{\"algorithm\": \"%s\", \"shape\": \"%s\", \"seconds\": %.9g, \"segment_bytes\": %lld, "
      "\"bytes_over\": {",
      name.c_str(), shape, seconds, static_cast<long long>(segment));
  const Estimate walked = walk(problem, schedule);
  const char* between = "";
  for (const Cut& cut : problem.network->cuts())
    for (const auto& [which, direction] :
         {std::pair{cut.in, "in"}, {cut.out, "out"}, {cut.medium, "medium"}}) {
      if (cut.parts.empty() || which < 0 || walked.carried[which] == 0) continue;
      std::printf("%s\"%s %s\": %lld", between, cut.name.c_str(), direction,
                  static_cast<long long>(walked.carried[which]));
      between = ", ";
    }
  std::printf("}}\n");
}

void estimate_all(const Asked& asked) {
  std::ifstream file(asked.topology);
  if (!file) throw UsageError(asked.topology + ": cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  const Network network(parse_topology(text.str(), asked.topology), asked.hosts);
  Problem problem{asked.operation, &network, asked.root, asked.bytes};
  for (const Candidate& candidate : candidates(problem, asked.library, asked.segment_bytes)) {
    if (candidate.algorithm) {
      const Problem solved = tuned(problem, candidate);
      const bool shaped = candidate.algorithm->shapes.size() > 1;
      print(solved, candidate.algorithm->name, shaped ? name_of(candidate.shape) : "",
            candidate.algorithm->segmented ? candidate.segment_units : 0, candidate.seconds,
            candidate.algorithm->make(solved));
    } else if (problem.operation == Operation::broadcast) {
      print(problem, "library", "", 0, candidate.seconds, library_broadcast(problem, asked.library));
    } else {
      std::printf(
          "{\"algorithm\": \"library\", \"shape\": \"\", \"seconds\": %.9g, \"segment_bytes\": 0, "
          "\"bytes_over\": {}}\n",
          candidate.seconds);
    }
  }
  std::printf(
      "{\"algorithm\": \"limit\", \"shape\": \"\", \"seconds\": %.9g, \"segment_bytes\": 0, "
      "\"bytes_over\": {}}\n",
      physical_limit(problem));
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
