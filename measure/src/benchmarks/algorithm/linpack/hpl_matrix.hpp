#pragma once

#include <cstdint>
#include <limits>

namespace scope::linpack {

// HPL's matrix: n rows and n + 1 columns, the last of which is the right-hand side, filled column by column
// with numbers x of one linear congruential generator, x' = a x + c modulo 2^64, starting at 100, as 0.5 - x /
// 2^64 (HPL 2.3: a, c and the first number are its HPL_MULT, HPL_IADD and HPL_ISEED).
class HplMatrix {
 public:
  enum class Kind {
    regular,
    singular,      // the column in the middle is zero
    not_a_number,  // the element in the middle is NaN
  };

  HplMatrix(std::int64_t n, Kind kind) : n_(n), kind_(kind) {}

  // Calls action(i, value) for `count` rows of a column, starting at `row`.
  template <class Action>
  void each(std::int64_t row, std::int64_t column, std::int64_t count, Action action) const {
    std::uint64_t state = after(static_cast<std::uint64_t>(row + column * n_));
    for (std::int64_t i = 0; i < count; ++i) {
      action(i, altered(row + i, column, 0.5 - static_cast<double>(state) * 0x1p-64));
      state = state * multiplier + increment;
    }
  }

 private:
  static constexpr std::uint64_t multiplier = 6364136223846793005u;
  static constexpr std::uint64_t increment = 1;
  static constexpr std::uint64_t first = 100;

  double altered(std::int64_t row, std::int64_t column, double value) const {
    if (kind_ == Kind::regular || column != n_ / 2) return value;
    if (kind_ == Kind::singular) return 0;
    return row == n_ / 2 ? std::numeric_limits<double>::quiet_NaN() : value;
  }

  // The number after this many steps, which are composed by squaring.
  static std::uint64_t after(std::uint64_t steps) {
    std::uint64_t state = first;
    std::uint64_t factor = multiplier;
    std::uint64_t offset = increment;
    for (; steps != 0; steps /= 2) {
      if (steps % 2 != 0) state = state * factor + offset;
      offset += factor * offset;
      factor *= factor;
    }
    return state;
  }

  std::int64_t n_;
  Kind kind_;
};

}  // namespace scope::linpack
