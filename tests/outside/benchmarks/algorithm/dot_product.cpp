// algorithm.dot_product: the dot product of two vectors that all ranks share.
//
// Timed: the products of a rank's own part and the sum over all ranks, on every rank's own clock after a common
// start; the slowest rank counts.
#include <numeric>

#include "benchmark.hpp"
#include "memory/buffer.hpp"

namespace scope {
namespace {

class DotProduct final : public Benchmark {
 public:
  DotProduct(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        n_(parameters.integer("n")),
        begin_(n_ * communicator.rank() / communicator.size()),
        end_(n_ * (communicator.rank() + 1) / communicator.size()),
        left_((end_ - begin_) * sizeof(double)),
        right_(left_.size()) {}

  Work work() const override { return {.flops = 2.0 * static_cast<double>(n_)}; }

  // Small integers: their sum is exact in any order.
  void fill(std::uint64_t seed) override {
    for (std::int64_t i = begin_; i < end_; ++i) {
      left_.as<double>()[i - begin_] = left(seed, i);
      right_.as<double>()[i - begin_] = right(i);
    }
    result_ = 0;
  }

  void run(Repetition& repetition) override {
    const auto left = left_.as<double>();
    const auto right = right_.as<double>();
    repetition.time([&] {
      const double own = std::inner_product(left.begin(), left.end(), right.begin(), 0.0);
      MPI_Allreduce(&own, &result_, 1, MPI_DOUBLE, MPI_SUM, communicator_.handle());
    });
  }

  Check verify(std::uint64_t seed) override {
    double wanted = 0;
    for (std::int64_t i = 0; i < n_; ++i) wanted += left(seed, i) * right(i);
    return {1, result_ == wanted ? "" : "the sum is " + std::to_string(result_)};
  }

  std::span<std::byte> received() override { return std::as_writable_bytes(std::span(&result_, 1)); }

 private:
  static double left(std::uint64_t seed, std::int64_t i) { return static_cast<double>((seed + i) % 7); }
  static double right(std::int64_t i) { return static_cast<double>(i % 5); }

  const Communicator& communicator_;
  std::int64_t n_;
  std::int64_t begin_;
  std::int64_t end_;
  Buffer left_;
  Buffer right_;
  double result_ = 0;
};

const Registration registration{{
    .name = "algorithm.dot_product",
    .title = "dot product",
    .summary = "the dot product of two vectors that all ranks share",
    .rungs = {arithmetic()},
    .costs = {{"compute", Step::Kind::work, "", "n/p"},
              {"exchange", Step::Kind::collective, "MPI_Allreduce", "1", "8"}},
    .parameters =
        {size("n", "", 1 << 20, 1, std::int64_t{1} << 36, "elements of each vector").labeled("elements")},
    .definition = Definition::max_rank,
    .metrics = {seconds("time_s"), flops_per_second()},
    .sweeps = {{"standard", "ranks=powers n=64Ki,1Mi"}},
    .make = make<DotProduct>,
}};

}  // namespace
}  // namespace scope
