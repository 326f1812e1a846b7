#include "sampling/interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace scope {

double relative_interval(std::vector<double> samples) {
  const auto count = static_cast<double>(samples.size());
  if (samples.size() < 6) return std::numeric_limits<double>::infinity();
  std::sort(samples.begin(), samples.end());
  const double spread = 1.96 * std::sqrt(count) / 2;
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(count / 2 - spread) - 1));
  const auto high = static_cast<std::size_t>(std::min(count - 1, std::ceil(count / 2 + spread)));
  const double median = samples[samples.size() / 2];
  if (median <= 0) return std::numeric_limits<double>::infinity();
  return (samples[high] - samples[low]) / 2 / median;
}

}  // namespace scope
