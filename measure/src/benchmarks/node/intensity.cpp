// node.intensity: arithmetic per memory word needed to reach the processor's rate.
//
// Timed: one pass y = p(x) over vectors of n elements, p a polynomial evaluated by Horner's rule, on every
// rank's own clock; the slowest rank counts. POLY1 (vectors in a cache) and POLY2 (vectors in memory) of
// PARKBENCH.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "benchmark.hpp"
#include "memory/buffer.hpp"
#include "text/words.hpp"

namespace scope::intensity {
namespace {

constexpr int highest_order = 16;

using Coefficients = std::array<double, highest_order + 1>;
using Pass = void (*)(const Coefficients&, const double*, double*, std::size_t);

// Elements are evaluated side by side: Horner's rule is a dependency chain, and a single chain would measure
// its latency. The compiler splits such a vector into those that the build flags allow.
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

class Intensity final : public Benchmark {
 public:
  Intensity(const Parameters& parameters, const Communicator& communicator)
      : order_(static_cast<int>(parameters.integer("intensity"))),
        pass_(passes(std::make_integer_sequence<int, highest_order>{})[order_ - 1]),
        ranks_(communicator.size()),
        x_(parameters.integer("array_bytes")),
        y_(parameters.integer("array_bytes")) {
    for (int k = 0; k <= highest_order; ++k) coefficients_[k] = 1.0 / (1 + k);
  }

  Work work() const override {
    const auto n = static_cast<double>(x_.size() / sizeof(double));
    return {.bytes = 2 * sizeof(double) * n * ranks_, .flops = 2.0 * order_ * n * ranks_};
  }

  void fill(std::uint64_t seed) override {
    const auto x = x_.as<double>();
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = argument(seed, i);
    y_.clear();
  }

  void run(Repetition& repetition) override {
    const auto x = x_.as<double>();
    double* y = y_.as<double>().data();
    repetition.time([&] {
      pass_(coefficients_, x.data(), y, x.size());
      asm volatile(""
                   :
                   : "r"(y)
                   : "memory");  // the compiler must not skip a pass that repeats the one before
    });
  }

  // All terms are positive, so Horner's rule, fused or not, is accurate within 2 m + 1 roundings.
  Check verify(std::uint64_t seed) override {
    const auto y = y_.as<double>();
    const double tolerance = 2 * (2.0 * order_ + 1) * std::numeric_limits<double>::epsilon();
    for (std::size_t i = 0; i < y.size(); ++i) {
      double right = 0;
      for (int k = order_; k >= 0; --k) right = right * argument(seed, i) + coefficients_[k];
      if (!(std::abs(y[i] - right) <= tolerance * right)) {
        return {static_cast<std::int64_t>(y.size()),
                sentence({"element ", i, " is ", y[i], ", not ", right})};
      }
    }
    return {static_cast<std::int64_t>(y.size()), ""};
  }

  std::span<std::byte> received() override { return y_.bytes(); }

 private:
  static double argument(std::uint64_t seed, std::size_t i) {
    return static_cast<double>((seed + i) % 1024) / 1024;
  }

  int order_;
  Pass pass_;
  int ranks_;
  Buffer x_;
  Buffer y_;
  Coefficients coefficients_;
};

const Registration registration{{
    .name = "node.intensity",
    .title = "computational intensity",
    .summary = "floating point rate over operations per memory reference: f_1/2 (POLY1, POLY2)",
    .parameters = {problem("intensity", "", 4, 1, highest_order,
                           "operations per memory reference: the order of the polynomial")
                       .labelled("operations per memory reference")
                       .worded("{} flop per memory reference"),
                   size("array_bytes", "B", 8 << 10, 8, std::int64_t{1} << 40,
                        "size of each of the two vectors on each rank")},
    .definition = Definition::max_rank,
    .metrics = {flops_per_second(), bytes_per_second(), seconds("time_s")},
    .sweeps = {{"baseline", "nodes=types ranks=1 array_bytes=8Ki,64Mi intensity=1,4,10"},
               {"standard", "nodes=types ranks=1,all array_bytes=8Ki,64Mi intensity=1,2,3,4,6,8,10"},
               {"advanced",
                "nodes=types ranks=1,all array_bytes=8Ki,64Mi intensity=1,2,3,4,5,6,7,8,9,10,12,14,16"}},
    .make = make<Intensity>,
}};

}  // namespace
}  // namespace scope::intensity
