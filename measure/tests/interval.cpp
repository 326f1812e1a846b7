#include "sampling/interval.hpp"

#include <cmath>
#include <random>
#include <vector>

#include "check.hpp"

using scope::relative_interval;

int main() {
  CHECK(std::isinf(relative_interval({})));
  CHECK(std::isinf(relative_interval({1, 1, 1, 1, 1})));
  CHECK(relative_interval({1, 1, 1, 1, 1, 1}) == 0);
  CHECK(std::isinf(relative_interval({0, 0, 0, 0, 0, 0})));

  // The interval must hold the true median (0 shifted to 1) about 95 times in 100: its half width must be
  // that of the order statistics, checked here through its shrinking with the root of n.
  std::mt19937 random(1);
  std::normal_distribution<double> normal(1.0, 0.1);
  std::vector<double> few(100);
  std::vector<double> many(10'000);
  for (auto& value : few) value = normal(random);
  for (auto& value : many) value = normal(random);
  // Half width of a normal median's interval: 1.96 x 1.2533 sigma / sqrt n.
  CHECK(std::abs(relative_interval(few) - 0.0246) < 0.01);
  CHECK(std::abs(relative_interval(many) - 0.00246) < 0.0005);
  // Order does not matter.
  CHECK(relative_interval({6, 1, 5, 2, 4, 3}) == relative_interval({1, 2, 3, 4, 5, 6}));
  return scope::testing::failures;
}
