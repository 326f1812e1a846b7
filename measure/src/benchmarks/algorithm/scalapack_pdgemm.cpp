// algorithm.scalapack_pdgemm: C = A B by the PBLAS of ScaLAPACK.
//
// Timed: one product on every rank; the slowest counts. The matrices are distributed before.
//
// Not for sanitizers: they cannot see into ScaLAPACK, without which nothing runs.
#include "benchmarks/algorithm/scalapack_case.hpp"

namespace scope::scalapack_pdgemm {
namespace {

template <class Real>
class Product final : public ScalapackCase<Real> {
 public:
  Product(const Parameters& parameters, const Communicator& communicator)
      : ScalapackCase<Real>(parameters, communicator, 3, asked_order(parameters)),
        a_(this->square()),
        b_(this->square()),
        c_(this->square()) {}

  Work work() const override {
    const double n = this->n_;
    return {.flops = 2 * n * n * n};
  }

  void fill(std::uint64_t seed) override {
    const std::int64_t n = this->n_;
    a_.fill([&](std::int64_t row, std::int64_t column) { return matrix_value(seed, row + column * n); });
    b_.fill([&](std::int64_t row, std::int64_t column) { return matrix_value(~seed, row + column * n); });
  }

  std::span<std::byte> received() override { return c_.bytes(); }

 private:
  void prepare() override { std::fill(c_.values.begin(), c_.values.end(), Real{}); }
  void begin() override { multiply_("N", "N", this->n_, this->n_, this->n_, Real{1}, a_, b_, Real{0}, c_); }
  std::map<std::string, double> phases(double, double) const override { return {}; }

  std::string problem(std::uint64_t seed) override {
    return distributed_product_problem(a_.layout, a_.stored(), b_.stored(), c_.stored(), roundoff<Real>, seed,
                                       this->communicator_);
  }

  Distributed<Real> a_;
  Distributed<Real> b_;
  Distributed<Real> c_;
  scalapack::Routine multiply_ = this->routine("gemm");
};

const Registration registration(declaration({"algorithm.scalapack_pdgemm",
                                             "ScaLAPACK product",
                                             "ScaLAPACK: product of two dense matrices",
                                             make_in_precision<Product>,
                                             {},
                                             "matrix product"},
                                            scalapack_parameters({grid_order_parameter()}), scalapack_sweeps()));

}  // namespace
}  // namespace scope::scalapack_pdgemm
