// Polynomials of vectors by Horner's rule; the order sets the number of operations per word.
#pragma once

#include <limits>

#include "benchmark.hpp"

namespace scope::polynomials {

inline constexpr int highest_order = 16;

using Coefficients = std::array<double, highest_order + 1>;
using Pass = void (*)(const Coefficients&, const double*, double*, std::size_t);

// Elements are evaluated side by side, because Horner's rule is a dependency chain, and a single chain would
// measure its latency. The compiler splits such a vector into vectors that the build flags allow.
typedef double Strip __attribute__((vector_size(64)));
constexpr std::size_t strip = sizeof(Strip) / sizeof(double);

// The order is a compile-time constant, which leaves no loop around the arithmetic.
template <class Value, int... k>
[[gnu::always_inline]] inline void polynomial(const Value* c, Value& x, std::integer_sequence<int, k...>) {
  constexpr int order = sizeof...(k);
  Value value = c[order];
  ((value = value * x + c[order - 1 - k]), ...);
  x = value;
}

template <int order>
void evaluate(const Coefficients& c, const double* x, double* y, std::size_t n) {
  constexpr auto powers = std::make_integer_sequence<int, order>{};
  Strip wide[order + 1];
  for (int k = 0; k <= order; ++k) wide[k] = Strip{} + c[k];
  std::size_t i = 0;
  for (; i + strip <= n; i += strip) {
    Strip value;
    std::memcpy(&value, x + i, sizeof value);
    polynomial(wide, value, powers);
    std::memcpy(y + i, &value, sizeof value);
  }
  for (; i < n; ++i) {
    double value = x[i];
    polynomial(c.data(), value, powers);
    y[i] = value;
  }
}

template <int... orders>
constexpr std::array<Pass, sizeof...(orders)> passes(std::integer_sequence<int, orders...>) {
  return {evaluate<orders + 1>...};
}

// A polynomial of order `order` with positive coefficients.
class Polynomial {
 public:
  explicit Polynomial(std::int64_t order)
      : order_(static_cast<int>(order)),
        pass_(passes(std::make_integer_sequence<int, highest_order>{})[order_ - 1]) {
    for (int k = 0; k <= highest_order; ++k) coefficients_[k] = 1.0 / (1 + k);
  }

  int order() const { return order_; }

  // y = p(x)
  void operator()(std::span<const double> x, double* y) const { pass_(coefficients_, x.data(), y, x.size()); }

  // Empty if y is p(x) for all x = `argument(i)`, which must be in [0, 1). All terms are positive, so Horner's
  // rule, fused or not, is accurate within 2 m + 1 roundings for order m.
  template <class Argument>
  std::string problem(std::span<const double> y, Argument argument) const {
    const double tolerance = 2 * (2.0 * order_ + 1) * std::numeric_limits<double>::epsilon();
    for (std::size_t i = 0; i < y.size(); ++i) {
      double right = 0;
      for (int k = order_; k >= 0; --k) right = right * argument(i) + coefficients_[k];
      if (!(std::abs(y[i] - right) <= tolerance * right))
        return sentence({"element ", i, " is ", y[i], ", not ", right});
    }
    return "";
  }

 private:
  int order_;
  Pass pass_;
  Coefficients coefficients_;
};

inline Parameter intensity_parameter() {
  return problem("intensity", "", 4, 1, highest_order, "degree of the polynomial (operations per word)")
      .labeled("operations per memory reference")
      .worded("{} flop per memory reference");
}

}  // namespace scope::polynomials
