// Chooses the algorithm, its shape and its segments: the combination with the shortest estimated time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "algorithms.hpp"
#include "estimator.hpp"
#include "library.hpp"

namespace scope {

// One algorithm with its best shape and segments.
struct Candidate {
  const Algorithm* algorithm = nullptr;  // null: the MPI library's own algorithm
  Shape shape = Shape::binomial;
  std::int64_t segment_units = 0;
  double seconds = 0;
};

// Scope's algorithm is chosen if its estimate is below this fraction of the library's and gains at least the time
// below; both reflect the accuracy of an estimate.
inline constexpr double worthwhile = 0.9;
inline constexpr double least_gain_s = 1e-4;

// Smaller segments cost more CPU time than they gain. Larger segments leave in two pieces: Open MPI sends the
// first 64 KiB with the request and the rest after everything that was posted meanwhile, so that no segment is
// complete before the last one has left, and nothing is pipelined.
constexpr std::int64_t least_segment_bytes = 8192;
constexpr std::int64_t most_segment_bytes = 32768;
constexpr double as_fast = 1.03;

inline std::int64_t units_of(const Problem& problem, std::int64_t bytes) {
  return std::clamp<std::int64_t>(bytes / std::max<std::int64_t>(1, problem.unit_bytes), 1,
                                  std::max<std::int64_t>(1, problem.units));
}

// Powers of two, starting with the smallest sensible segment; or the whole message if it is not larger.
inline std::vector<std::int64_t> sizes(const Problem& problem) {
  const std::int64_t bytes = std::max<std::int64_t>(1, problem.units * problem.unit_bytes);
  std::vector<std::int64_t> list;
  for (std::int64_t size = least_segment_bytes; size < bytes && size <= most_segment_bytes; size *= 2)
    list.push_back(size);
  if (bytes <= most_segment_bytes) list.push_back(bytes);
  return list;
}

// Among candidates as fast as the fastest, within the accuracy of an estimate, chooses the fewest messages, then
// the first shape.
inline std::vector<Candidate>::const_iterator least_effort(const std::vector<Candidate>& tried) {
  const auto fastest =
      std::min_element(tried.begin(), tried.end(),
                       [](const Candidate& one, const Candidate& other) { return one.seconds < other.seconds; });
  auto best = fastest;
  for (auto candidate = tried.begin(); candidate != tried.end(); ++candidate) {
    if (candidate->seconds > as_fast * fastest->seconds) continue;
    const bool fewer = candidate->segment_units > best->segment_units;
    if (fewer || (candidate->segment_units == best->segment_units && candidate < best)) best = candidate;
  }
  return best;
}

// The problem with the candidate's shape and segments.
inline Problem tuned(Problem problem, const Candidate& candidate) {
  problem.shape = candidate.shape;
  problem.segment_units = candidate.segment_units;
  return problem;
}

// The algorithm with its fastest shape and segments; `segment_bytes` above 0 fixes the segments.
inline Candidate best_of(const Problem& problem, const Algorithm& algorithm, std::int64_t segment_bytes) {
  std::vector<Candidate> tried;
  const auto attempt = [&](Shape shape, std::int64_t bytes) {
    Candidate candidate{&algorithm, shape, units_of(problem, bytes), 0};
    candidate.seconds = estimate(tuned(problem, candidate), algorithm);
    tried.push_back(candidate);
    return candidate.seconds;
  };
  for (const Shape shape : algorithm.shapes) {
    if (!algorithm.segmented || segment_bytes > 0) {
      attempt(shape, segment_bytes > 0 ? segment_bytes : problem.units * problem.unit_bytes);
      continue;
    }
    // With growing segments, the time first falls, then rises: search from the middle in the better direction.
    const std::vector<std::int64_t> all = sizes(problem);
    std::map<std::size_t, double> known;
    const auto at = [&](std::size_t index) {
      const auto [found, fresh] = known.emplace(index, 0.0);
      if (fresh) found->second = attempt(shape, all[index]);
      return found->second;
    };
    std::size_t here = all.size() / 2;
    at(here);
    while (here + 1 < all.size() && at(here + 1) < at(here)) ++here;
    while (here > 0 && at(here - 1) < at(here)) --here;
  }
  return *least_effort(tried);
}

// Whether no step has a count above MPI's int.
inline bool possible(const Problem& problem, const Algorithm& algorithm) {
  return algorithm.segmented || problem.units <= std::numeric_limits<int>::max();
}

// Every algorithm of the operation with its best settings, the MPI library's own first.
inline std::vector<Candidate> candidates(const Problem& problem, Library library, std::int64_t segment_bytes) {
  Candidate own;
  own.seconds = simulate(problem, library_schedule(problem, library)).seconds;
  std::vector<Candidate> all = {own};
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.operation == problem.operation && possible(problem, algorithm))
      all.push_back(best_of(problem, algorithm, segment_bytes));
  return all;
}

// The fastest candidate, or the first if no other gains enough.
inline const Candidate& chosen(const std::vector<Candidate>& all) {
  const auto faster = [](const Candidate& one, const Candidate& other) { return one.seconds < other.seconds; };
  const auto best = std::min_element(all.begin(), all.end(), faster);
  const double own = all.front().seconds;
  return best->seconds < worthwhile * own && own - best->seconds > least_gain_s ? *best : all.front();
}

}  // namespace scope
