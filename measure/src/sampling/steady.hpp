// The beginning of the steady state of a series.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "sampling/median.hpp"

namespace scope {

constexpr std::size_t stretch = 5;
constexpr std::size_t longest_warmup = 20;
constexpr double tolerance = 0.05;

inline double median_of(std::span<const double> times_s) {
  std::vector<double> counted;
  std::copy_if(times_s.begin(), times_s.end(), std::back_inserter(counted),
               [](double time_s) { return !std::isnan(time_s); });
  return median(counted);
}

// The number of leading repetitions that are warm-up: those before the first five whose median is within 5 % of
// the median of the later half. Only falling times count as warm-up. At least 1 and at most 20, at most half of
// all repetitions; 0 for a single one. Repetitions that do not count must be NaN.
inline int warmup_of(std::span<const double> times_s) {
  const std::size_t count = times_s.size();
  const std::size_t most = std::min(longest_warmup, count / 2);
  const double level_s = median_of(times_s.subspan(count / 2));
  std::size_t warmup = std::min<std::size_t>(1, most);
  while (warmup < most && median_of(times_s.subspan(warmup, stretch)) > level_s * (1 + tolerance)) ++warmup;
  return static_cast<int>(warmup);
}

}  // namespace scope
