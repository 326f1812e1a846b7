// node.intensity: arithmetic per memory word that is needed to reach the processor's rate.
//
// Timed: one pass y = p(x) over vectors of n elements, for a polynomial p by Horner's rule, on every rank's own
// clock; the slowest rank counts. POLY1 (vectors in a cache) and POLY2 (vectors in memory) of PARKBENCH.
#include "benchmarks/polynomial.hpp"

namespace scope::intensity {
namespace {

class Intensity final : public Benchmark {
 public:
  Intensity(const Parameters& parameters, const Communicator& communicator)
      : polynomial_(parameters.integer("intensity")),
        ranks_(communicator.size()),
        x_(parameters.integer("array_bytes")),
        y_(parameters.integer("array_bytes")) {}

  Work work() const override {
    const auto n = static_cast<double>(x_.size() / sizeof(double));
    return {.bytes = 2 * sizeof(double) * n * ranks_, .flops = 2.0 * polynomial_.order() * n * ranks_};
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
      polynomial_(x, y);
      asm volatile("" : : "r"(y) : "memory");  // the compiler must not skip a pass that repeats the previous one
    });
  }

  Check verify(std::uint64_t seed) override {
    const auto y = y_.as<double>();
    return {static_cast<std::int64_t>(y.size()),
            polynomial_.problem(y, [=](std::size_t i) { return argument(seed, i); })};
  }

  std::span<std::byte> received() override { return y_.bytes(); }

 private:
  static double argument(std::uint64_t seed, std::size_t i) {
    return static_cast<double>((seed + i) % 1024) / 1024;
  }

  polynomials::Polynomial polynomial_;
  int ranks_;
  Buffer x_;
  Buffer y_;
};

const Registration registration{{
    .name = "node.intensity",
    .title = "computational intensity",
    .summary = "floating-point rate as a function of the operations per memory reference (POLY1, POLY2)",
    .parameters = {polynomials::intensity_parameter(), size("array_bytes", "B", 8 << 10, 8, std::int64_t{1} << 40,
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
