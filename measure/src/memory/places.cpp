#include "memory/places.hpp"

#include "text/words.hpp"

namespace scope {

std::string Places::pattern_problem(std::uint64_t seed) {
  for (std::int64_t number = 0; number < count_; ++number) {
    const std::string problem = scope::pattern_problem(place(number), seed);
    if (problem.empty()) continue;
    return count_ > 1 ? sentence({"message ", number + 1, ": ", problem}) : problem;
  }
  return "";
}

}  // namespace scope
