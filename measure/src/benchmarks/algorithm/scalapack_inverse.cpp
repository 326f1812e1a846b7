// algorithm.scalapack_inverse: the inverse of a dense matrix by ScaLAPACK.
//
// Timed: LU factorization and the inverse from the factors on every rank, together and separately; the
// slowest counts.
//
// Not for sanitizers: they cannot see into ScaLAPACK, without which nothing runs.

#include "benchmarks/algorithm/scalapack_case.hpp"

namespace scope::scalapack_inverse {
namespace {

constexpr double threshold = 1;  // of ScaLAPACK's test program: INV.dat

template <class Real>
class Inverse final : public ScalapackCase<Real> {
 public:
  Inverse(const Parameters& parameters, const Communicator& communicator)
      : ScalapackCase<Real>(parameters, communicator, 1),
        condition_(static_cast<double>(parameters.integer("condition"))),
        a_(this->square()),
        pivots_(a_.layout.leading() + this->block_) {
    invert();
    work_.allocate();
    integers_.allocate();
  }

  Work work() const override {
    const double n = this->n_;
    return {.flops = 2 * n * n * n};
  }

  void fill(std::uint64_t seed) override { matrix_.emplace(this->n_, condition_, seed, false); }

  std::span<std::byte> received() override { return a_.bytes(); }

 private:
  void prepare() override {
    a_.fill(*matrix_);
    this->info_ = 0;
  }
  void begin() override { factorize_(this->n_, this->n_, a_, pivots_, this->info_); }
  void finish() override {
    if (this->info_ == 0) invert();
  }
  void invert() { invert_(this->n_, a_, pivots_, work_, integers_, this->info_); }
  std::map<std::string, double> phases(double begin_s, double finish_s) const override {
    return {{"factorize_s", begin_s}, {"invert_s", finish_s}};
  }

  // |A (X v) - v| / (eps n |A| |X| |v|): the residual of the test program, applied to a vector without zeros.
  std::string problem(std::uint64_t seed) override {
    const Vector v = probe(this->n_, seed);
    const auto original = rounded<Real>(*matrix_);
    const Vector inverse = distributed_product(a_.layout, a_.stored(), v, this->communicator_);
    const Vector back = distributed_product(a_.layout, original, inverse, this->communicator_);
    const double scale = distributed_row_norm(a_.layout, original, this->communicator_) *
                         distributed_row_norm(a_.layout, a_.stored(), this->communicator_) * largest(v);
    return this->beyond(largest_difference(back, v), scale, threshold);
  }

  double condition_;
  Distributed<Real> a_;
  std::vector<int> pivots_;
  Workspace<Real> work_;
  Workspace<int> integers_;
  std::optional<KnownCondition> matrix_;
  scalapack::Routine factorize_ = this->routine("getrf");
  scalapack::Routine invert_ = this->routine("getri");
};

const Registration registration(declaration({"algorithm.scalapack_inverse",
                                             "ScaLAPACK inverse",
                                             "ScaLAPACK: inverse of a dense matrix",
                                             make_in_precision<Inverse>,
                                             {phase("factorize_s"), phase("invert_s")}},
                                            scalapack_parameters({condition_parameter()}), scalapack_sweeps()));

}  // namespace
}  // namespace scope::scalapack_inverse
