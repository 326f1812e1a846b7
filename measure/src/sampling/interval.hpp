// Precision of the median of the samples so far.
#pragma once

#include <vector>

namespace scope {

// Half width of the 95 % interval of the median over the median, from order statistics (normal approximation of
// the binomial ranks: David and Nagaraja, Order Statistics, 3rd ed., section 7.1). Infinite below 6 samples,
// where no such interval exists. Samples come in the order in which they were taken: where they depend on each
// other, the interval is as wide as that of so many fewer independent ones.
double relative_interval(std::vector<double> samples);

}  // namespace scope
