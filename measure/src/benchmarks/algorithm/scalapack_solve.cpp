// algorithm.scalapack_{lu,cholesky,qr}: a dense system of equations solved by ScaLAPACK.
//
// Timed: factorization and the solution of one system on every rank, together and separately; the slowest
// counts. The matrices are generated before.
//
// Not for sanitizers: they cannot see into ScaLAPACK, without which nothing runs.

#include "benchmarks/algorithm/scalapack_case.hpp"

namespace scope::scalapack_solve {
namespace {

// A x = b with a matrix of known condition number and a right-hand side without zeros.
template <class Real>
class Solve : public ScalapackCase<Real> {
 public:
  Solve(const Parameters& parameters, const Communicator& communicator, bool symmetric, double threshold)
      : ScalapackCase<Real>(parameters, communicator, 1),
        condition_(static_cast<double>(parameters.integer("condition"))),
        symmetric_(symmetric),
        threshold_(threshold),
        a_(this->square()),
        b_(this->vector()) {}

  void fill(std::uint64_t seed) override {
    matrix_.emplace(this->n_, condition_, seed, symmetric_);
    right_ = probe(this->n_, seed);
    for (auto& value : right_) value = static_cast<Real>(value);
  }

  std::span<std::byte> received() override { return b_.bytes(); }
  std::vector<std::span<const std::byte>> computed() override { return {a_.bytes()}; }  // the factors

 protected:
  void prepare() override {
    a_.fill(*matrix_);
    b_.fill([&](std::int64_t row, std::int64_t) { return right_[row]; });
    this->info_ = 0;
  }

  std::string refusal(int info) const override {
    return sentence({"step ", info, " of the factorization has no pivot: the matrix is singular"});
  }

  // |A x - b| / (eps n |A| |x|), scaled as in ScaLAPACK's test programs.
  std::string problem(std::uint64_t) override {
    const Communicator& communicator = this->communicator_;
    const Vector x = distributed_product(b_.layout, b_.stored(), Vector(1, 1.0), communicator);
    const auto original = rounded<Real>(*matrix_);
    const Vector product = distributed_product(a_.layout, original, x, communicator);
    const double scale = distributed_row_norm(a_.layout, original, communicator) * largest(x);
    return this->beyond(largest_difference(product, right_), scale, threshold_);
  }

  double condition_;
  bool symmetric_;
  double threshold_;
  Distributed<Real> a_;
  Distributed<Real> b_;
  std::optional<KnownCondition> matrix_;
  Vector right_;
};

// Thresholds from the input files of ScaLAPACK's test programs (LU.dat, LLT.dat, QR.dat).
template <class Real>
class Lu final : public Solve<Real> {
 public:
  Lu(const Parameters& parameters, const Communicator& communicator)
      : Solve<Real>(parameters, communicator, false, 1), pivots_(this->a_.layout.leading() + this->block_) {}

  Work work() const override {
    const double n = this->n_;
    return {.flops = (2.0 / 3 * n + 3.0 / 2) * n * n};
  }

 private:
  void begin() override { factorize_(this->n_, this->n_, this->a_, pivots_, this->info_); }
  void finish() override {
    if (this->info_ == 0) solve_("N", this->n_, 1, this->a_, pivots_, this->b_, this->info_);
  }

  std::vector<int> pivots_;
  scalapack::Routine factorize_ = this->routine("getrf");
  scalapack::Routine solve_ = this->routine("getrs");
};

template <class Real>
class Cholesky final : public Solve<Real> {
 public:
  Cholesky(const Parameters& parameters, const Communicator& communicator)
      : Solve<Real>(parameters, communicator, true, 3) {}

  Work work() const override {
    const double n = this->n_;
    return {.flops = (1.0 / 3 * n + 5.0 / 2) * n * n};
  }

 private:
  void begin() override { factorize_("L", this->n_, this->a_, this->info_); }
  void finish() override {
    if (this->info_ == 0) solve_("L", this->n_, 1, this->a_, this->b_, this->info_);
  }
  std::string refusal(int info) const override {
    return sentence({"the matrix is not positive definite: the factorization failed in step ", info});
  }

  scalapack::Routine factorize_ = this->routine("potrf");
  scalapack::Routine solve_ = this->routine("potrs");
};

template <class Real>
class Qr final : public Solve<Real> {
 public:
  Qr(const Parameters& parameters, const Communicator& communicator)
      : Solve<Real>(parameters, communicator, false, 5), scales_(this->a_.layout.columns.local() + 1) {
    // The larger workspace of the two.
    factorize();
    const Real wanted = work_.items[0];
    turn();
    work_.items[0] = std::max(work_.items[0], wanted);
    work_.allocate();
  }

  Work work() const override {
    const double n = this->n_;
    return {.flops = (4.0 / 3 * n + 3.0) * n * n};
  }

 private:
  void begin() override { factorize(); }
  // x = R^-1 Q^T b
  void finish() override {
    turn();
    if (this->info_ == 0) solve_("U", "N", "N", this->n_, 1, this->a_, this->b_, this->info_);
  }

  void factorize() { factorize_(this->n_, this->n_, this->a_, scales_, work_, this->info_); }
  void turn() { turn_("L", "T", this->n_, 1, this->n_, this->a_, scales_, this->b_, work_, this->info_); }

  std::vector<Real> scales_;  // of the reflections
  Workspace<Real> work_;
  scalapack::Routine factorize_ = this->routine("geqrf");
  scalapack::Routine turn_ = this->routine("ormqr");
  scalapack::Routine solve_ = this->routine("trtrs");
};

Declaration dense(const ScalapackRow& solver) {
  return declaration(solver, scalapack_parameters({condition_parameter()}), scalapack_sweeps());
}

const Registration lu(dense({"algorithm.scalapack_lu", "ScaLAPACK LU",
                             "ScaLAPACK: dense system by LU with pivoting", make_in_precision<Lu>}));
const Registration cholesky(dense({"algorithm.scalapack_cholesky", "ScaLAPACK Cholesky",
                                   "ScaLAPACK: positive definite system by Cholesky factorization",
                                   make_in_precision<Cholesky>}));
const Registration qr(dense({"algorithm.scalapack_qr", "ScaLAPACK QR",
                             "ScaLAPACK: dense system by QR factorization", make_in_precision<Qr>}));

}  // namespace
}  // namespace scope::scalapack_solve
