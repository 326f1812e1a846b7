// The precision of the median of the samples so far.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sampling/median.hpp"

namespace scope {

// Geyer's initial positive sequence (Statistical Science 7, 1992, section 3.3), applied to the signs about the
// median: adds sums of neighboring autocorrelations until one is not positive.
inline double variance_inflation(const std::vector<double>& samples, double middle) {
  const std::size_t count = samples.size();
  std::vector<double> signs;
  signs.reserve(count);
  for (const double sample : samples) signs.push_back(sample > middle ? 1 : sample < middle ? -1 : 0);
  const auto covariance = [&](std::size_t lag) {
    double sum = 0;
    for (std::size_t i = 0; i + lag < count; ++i) sum += signs[i] * signs[i + lag];
    return sum;
  };
  const double variance = covariance(0);
  if (variance <= 0) return 1;
  double inflation = -1;
  std::size_t lag = 0;
  for (; lag + 1 < count / 2; lag += 2) {
    const double pair = (covariance(lag) + covariance(lag + 1)) / variance;
    if (pair <= 0) break;
    inflation += 2 * pair;
  }
  // The signs add up to zero, which lowers each of their autocorrelations.
  const double share = static_cast<double>(2 * lag + 1) / static_cast<double>(count);
  return std::max(1.0, inflation / std::max(1 - share, 0.25));
}

// The 97.5 % quantile of Student's t (Cornish-Fisher expansion); exact to 3 % for 2 or more degrees of freedom.
inline double student(double freedom) {
  const double z = 1.96;
  const double square = z * z;
  const double first = (square + 1) / 4;
  const double second = ((5 * square + 16) * square + 3) / 96;
  const double third = (((3 * square + 19) * square + 17) * square - 15) / 384;
  return z * (1 + (first + (second + third / freedom) / freedom) / freedom);
}

// Half width of the 95 % confidence interval for the median over the median, from order statistics (normal
// approximation of the binomial ranks: David and Nagaraja, Order Statistics, 3rd ed., section 7.1). Infinite for
// fewer than 6 samples, for which there is no such interval. Samples must be in the order of measurement: if they
// depend on each other, the interval is as wide as for correspondingly fewer independent samples.
inline double relative_interval(std::vector<double> samples) {
  const auto count = static_cast<double>(samples.size());
  if (samples.size() < 6) return std::numeric_limits<double>::infinity();
  std::vector<double> ordered = samples;
  std::sort(ordered.begin(), ordered.end());
  const double middle = median(samples);
  if (middle <= 0) return std::numeric_limits<double>::infinity();
  const double inflation = variance_inflation(samples, middle);
  const double quantile = inflation > 1 ? student(std::max(count / inflation - 1, 1.0)) : 1.96;
  const double spread = quantile * std::sqrt(count * inflation) / 2;
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(count / 2 - spread) - 1));
  const auto high = static_cast<std::size_t>(std::min(count - 1, std::ceil(count / 2 + spread)));
  return (ordered[high] - ordered[low]) / 2 / middle;
}

}  // namespace scope
