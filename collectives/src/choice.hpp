// Chooses the algorithm, its shape and its segments: the combination with the shortest estimate.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms.hpp"
#include "library.hpp"

namespace scope {

// One algorithm with its best shape and segments.
struct Candidate {
  const Algorithm* algorithm = nullptr;  // null: the library's own
  Shape shape = Shape::binomial;
  std::int64_t segment_units = 0;
  double seconds = 0;
};

// Scope's algorithm is taken where its estimate is below this share of the library's and gains at least this
// much: the accuracy of an estimate.
inline constexpr double worthwhile = 0.9;
inline constexpr double least_gain_s = 1e-4;

// The problem as solved by the candidate.
Problem tuned(Problem problem, const Candidate& candidate);

// The algorithm in its fastest shape and segments; `segment_bytes` above 0 fixes those.
Candidate best_of(const Problem& problem, const Algorithm& algorithm, std::int64_t segment_bytes);

// Every algorithm of the operation with its best settings, the library's own first.
std::vector<Candidate> candidates(const Problem& problem, Library library, std::int64_t segment_bytes);

// The fastest of them, or the first where no other gains enough.
const Candidate& chosen(const std::vector<Candidate>& all);

// No step of it has a count above MPI's int.
bool possible(const Problem& problem, const Algorithm& algorithm);

}  // namespace scope
