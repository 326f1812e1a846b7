// The median used in the native program: for an even number of values, the mean of the middle two, as in Python.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace scope {

// NaN if there are no values.
inline double median(std::vector<double> values) {
  if (values.empty()) return NAN;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.size() % 2 == 1 ? *middle : (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace scope
