#include "algorithms.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace scope {
namespace {

std::vector<Algorithm>& registered() {
  static std::vector<Algorithm> algorithms;
  return algorithms;
}

std::tuple<Operation, std::string_view> key(const Algorithm& algorithm) {
  return {algorithm.operation, algorithm.name};
}

}  // namespace

Registration::Registration(const Algorithm& algorithm) {
  std::vector<Algorithm>& all = registered();
  const auto place =
      std::upper_bound(all.begin(), all.end(), algorithm,
                       [](const Algorithm& one, const Algorithm& other) { return key(one) < key(other); });
  all.insert(place, algorithm);
}

std::span<const Algorithm> algorithms() { return registered(); }

const Algorithm* find_algorithm(Operation operation, const std::string& name) {
  for (const Algorithm& algorithm : registered())
    if (algorithm.operation == operation && algorithm.name == name) return &algorithm;
  return nullptr;
}

}  // namespace scope
