// node.vector_rate: the rate of a loop as a function of its length.
//
// Timed: one loop over vectors of n elements on every rank, on its own clock; the slowest rank counts. Loops are
// repeated on the same vectors, which stay in the L1 cache up to about 1,000 elements. RINF1 of PARKBENCH.
#include "benchmark.hpp"

namespace scope::vector_rate {
namespace {

constexpr double scalar = 3.0;

double small_integer(std::uint64_t seed, std::size_t i, std::uint64_t modulus) {
  return static_cast<double>((seed + i) % modulus);
}

class VectorRate final : public Benchmark {
 public:
  VectorRate(const Parameters& parameters, const Communicator& communicator)
      : kernel_(parameters.choice("kernel")),
        n_(static_cast<std::size_t>(parameters.integer("vector_length"))),
        ranks_(communicator.size()),
        a_(n_ * sizeof(double)),
        b_(n_ * sizeof(double)),
        c_(n_ * sizeof(double)) {}

  Work work() const override {
    const double per_element = kernel_ == "multiply" ? 1 : 2;
    return {.flops = per_element * static_cast<double>(n_) * ranks_};
  }

  // Small integers, so that every result is exact for any order of summation.
  void fill(std::uint64_t seed) override {
    for (std::size_t i = 0; i < n_; ++i) {
      a_.as<double>()[i] = small_integer(seed, i, 1021);
      b_.as<double>()[i] = small_integer(3 * seed, i, 509);
    }
    c_.clear();
  }

  void run(Repetition& repetition) override {
    const double* a = a_.as<double>().data();
    const double* b = b_.as<double>().data();
    double* c = c_.as<double>().data();
    const auto loop = [&](auto element) {
      repetition.time([&] {
        for (std::size_t i = 0; i < n_; ++i) c[i] = element(i);
        asm volatile("" : : "r"(c) : "memory");  // the compiler must not skip a loop that repeats the previous one
      });
    };
    if (kernel_ == "multiply") {
      loop([=](std::size_t i) { return a[i] * b[i]; });
    } else if (kernel_ == "triad") {
      loop([=](std::size_t i) { return a[i] * scalar + b[i]; });
    } else {
      repetition.time([&] {
        double sum = 0;
        for (std::size_t i = 0; i < n_; ++i) sum += a[i] * b[i];
        c[0] = sum;
        asm volatile("" : : "r"(c) : "memory");
      });
    }
  }

  Check verify(std::uint64_t seed) override {
    double sum = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const double a = small_integer(seed, i, 1021);
      const double b = small_integer(3 * seed, i, 509);
      sum += a * b;
      if (kernel_ == "dot") continue;
      if (c_.as<double>()[i] != (kernel_ == "multiply" ? a * b : a * scalar + b))
        return {static_cast<std::int64_t>(n_), sentence({"element ", i, " is wrong"})};
    }
    if (kernel_ == "dot" && c_.as<double>()[0] != sum) return {1, "the sum is wrong"};
    return {kernel_ == "dot" ? 1 : static_cast<std::int64_t>(n_), ""};
  }

  std::span<std::byte> received() override {
    return kernel_ == "dot" ? c_.bytes().first(sizeof(double)) : c_.bytes();
  }

 private:
  std::string kernel_;
  std::size_t n_;
  int ranks_;
  Buffer a_;
  Buffer b_;
  Buffer c_;
};

const Registration registration{{
    .name = "node.vector_rate",
    .title = "vector loops",
    .summary = "floating-point rate of vector loops as a function of their length (RINF1)",
    .rungs = {arithmetic()},
    .parameters = {problem("kernel", "triad,multiply,dot", "c = 3a + b, c = a b, or the sum of a b")
                       .worded("triad,multiply,dot"),
                   size("vector_length", "", 128, 1, std::int64_t{1} << 30, "elements of each vector")
                       .worded("vectors of {}")},
    .definition = Definition::max_rank,
    .metrics = {flops_per_second(), seconds("time_s")},
    .sweeps = {{"baseline", "nodes=types ranks=1 kernel=triad vector_length=4,16,64,256"},
               {"standard",
                "nodes=types ranks=1 kernel=triad,multiply,dot vector_length=1,2,4,8,16,32,64,128,256,512,1024"}},
    .make = make<VectorRate>,
}};

}  // namespace
}  // namespace scope::vector_rate
