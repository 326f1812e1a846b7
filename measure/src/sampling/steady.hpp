// Where the steady state of a series begins.
#pragma once

#include <span>

namespace scope {

// How many leading repetitions are warm-up: those before the first five whose median is within 5 % of the median
// of the later half. Only times that fall count as warm-up. At least 1 and at most 20, at most half of all
// repetitions; 0 for a single one. Repetitions that do not count are NaN.
int warmup_of(std::span<const double> times_s);

}  // namespace scope
