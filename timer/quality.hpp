// How good a clock is, found by reading it.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "timer/timer.hpp"

namespace scope {

struct TickQuality {
  // The largest step of which all others are multiples; where reads are faster than the clock, the smallest.
  Ticks resolution;
  // The median of an empty pair of reads.
  Ticks pair;
  bool monotonic;
};

template <int reads, class Now>
TickQuality quality_of(Now&& now) {
  Ticks smallest = std::numeric_limits<Ticks>::max();
  Ticks divisor = 0;
  bool monotonic = true;
  bool faster = false;
  std::array<Ticks, reads> steps;
  Ticks previous = now();
  for (auto& step : steps) {
    const Ticks read = now();
    step = read - previous;
    previous = read;
    monotonic = monotonic && step >= 0;
    faster = faster || step == 0;
    if (step <= 0) continue;
    smallest = std::min(smallest, step);
    divisor = std::gcd(divisor, step);
  }
  std::nth_element(steps.begin(), steps.begin() + reads / 2, steps.end());
  return {faster ? smallest : divisor, steps[reads / 2], monotonic};
}

}  // namespace scope
