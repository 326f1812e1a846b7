// Which algorithm, in which shape and segments: the one with the shortest estimate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms.hpp"
#include "library.hpp"

namespace scope {

// One algorithm at its best.
struct Candidate {
  const Algorithm* algorithm = nullptr;  // null: the library's own
  Shape shape = Shape::binomial;
  std::int64_t segment_units = 0;
  double seconds = 0;
};

// Ours is taken where its estimate is below this share of the library's and the gain is at least so long:
// what an estimate is worth.
inline constexpr double worthwhile = 0.9;
inline constexpr double least_gain_s = 1e-4;

// The problem as the candidate solves it.
Problem tuned(Problem problem, const Candidate& candidate);

// The algorithm in its fastest shape and segments; `segment_bytes` above 0 fixes those.
Candidate best_of(const Problem& problem, const Algorithm& algorithm, std::int64_t segment_bytes);

// Every algorithm of the operation at its best, the library's own first.
std::vector<Candidate> candidates(const Problem& problem, Library library, std::int64_t segment_bytes);

// The fastest of them, or the first where no other is worth it.
const Candidate& chosen(const std::vector<Candidate>& all);

// No step of it counts more than MPI's int can say.
bool possible(const Problem& problem, const Algorithm& algorithm);

}  // namespace scope
