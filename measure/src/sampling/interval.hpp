// Precision of the median of the samples so far.
#pragma once

#include <vector>

namespace scope {

// Half width of the median's 95 % interval over the median, from order statistics (normal approximation of
// the binomial ranks: David and Nagaraja, Order Statistics, 3rd ed., section 7.1). Infinite below 6 samples,
// where no such interval exists.
double relative_interval(std::vector<double> samples);

}  // namespace scope
