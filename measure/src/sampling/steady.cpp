#include "sampling/steady.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sampling/median.hpp"

namespace scope {
namespace {

constexpr std::size_t stretch = 5;
constexpr std::size_t longest_warmup = 20;
constexpr double tolerance = 0.05;

double median_of(std::span<const double> times_s) {
  std::vector<double> counted;
  std::copy_if(times_s.begin(), times_s.end(), std::back_inserter(counted),
               [](double time_s) { return !std::isnan(time_s); });
  return median(counted);
}

}  // namespace

int warmup_of(std::span<const double> times_s) {
  const std::size_t count = times_s.size();
  const std::size_t most = std::min(longest_warmup, count / 2);
  const double level_s = median_of(times_s.subspan(count / 2));
  std::size_t warmup = std::min<std::size_t>(1, most);
  while (warmup < most && median_of(times_s.subspan(warmup, stretch)) > level_s * (1 + tolerance)) ++warmup;
  return static_cast<int>(warmup);
}

}  // namespace scope
