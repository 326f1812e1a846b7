// algorithm.scalapack_band_{lu,cholesky}: a banded system of equations solved by ScaLAPACK.
//
// Timed: factorization and the solution of one system on every rank, together and separately; the slowest
// counts. Each process has one block of columns: ScaLAPACK divides the band among processes and couples the
// parts by a reduced system, so that several processes compute more in total than one.
//
// Not for sanitizers: they cannot see into ScaLAPACK, without which nothing runs.

#include "benchmarks/algorithm/scalapack_case.hpp"

namespace scope::scalapack_band {
namespace {

constexpr double threshold = 3;  // of ScaLAPACK's test programs: BLU.dat, BLLT.dat

// `band` diagonals on either side of the main diagonal.
template <class Real>
class BandSolve : public ScalapackCase<Real> {
 public:
  // `stored`: rows of the band's storage; `above`: how many of them are above the main diagonal.
  // `needed`: the minimum number of columns per process if there are several.
  BandSolve(const Parameters& parameters, const Communicator& communicator, int stored, int above, int needed)
      : ScalapackCase<Real>(communicator, ProcessGrid(communicator, 1), static_cast<int>(parameters.integer("n")),
                            block(parameters, communicator, needed)),
        band_(band(parameters)),
        condition_(static_cast<double>(parameters.integer("condition"))),
        stored_(stored),
        above_(above),
        first_(std::min<std::int64_t>(this->n_, std::int64_t{communicator.rank()} * this->block_)),
        columns_(std::min<std::int64_t>(this->n_ - first_, this->block_)) {
    // Fill-in needs the same number of rows again.
    require_memory(2 * std::int64_t{stored} * this->block_ * static_cast<std::int64_t>(sizeof(Real)),
                   communicator);
    constexpr int along_columns = 501;
    constexpr int along_rows = 502;
    const int context = this->context_.handle();
    a_ = {std::vector<Real>(std::size_t(stored) * this->block_),
          {along_columns, context, this->n_, this->block_, 0, stored_, 0, 0, 0}};
    b_ = {std::vector<Real>(this->block_),
          {along_rows, context, this->n_, this->block_, 0, this->block_, 0, 0, 0}};
  }

  void fill(std::uint64_t seed) override {
    matrix_.emplace(this->n_, band_, condition_, seed);
    right_ = probe(this->n_, seed);
    for (auto& value : right_) value = static_cast<Real>(value);
  }

  std::span<std::byte> received() override {
    return std::as_writable_bytes(std::span(b_.values.data(), static_cast<std::size_t>(columns_)));
  }
  std::vector<std::span<const std::byte>> computed() override {
    return {std::as_bytes(std::span(a_.values))};
  }  // the factors

  static int band(const Parameters& parameters) { return static_cast<int>(parameters.integer("band")); }

 protected:
  // The columns of the band, or the items of a vector, on this process.
  struct Part {
    std::vector<Real> values;
    scalapack::Descriptor descriptor;

    auto fortran_arguments() {
      static constexpr int first = 1;
      return std::tuple(values.data(), &first, descriptor.data());
    }
  };

  virtual double element(std::int64_t row, std::int64_t column) const = 0;

  void prepare() override {
    std::fill(a_.values.begin(), a_.values.end(), Real{});
    std::fill(b_.values.begin(), b_.values.end(), Real{});
    for_each([&](std::int64_t row, std::int64_t column, double value) {
      const std::int64_t in_band = above_ + row - column;
      // Only the lower half of a symmetric matrix is stored.
      if (in_band >= 0 && in_band < stored_)
        a_.values[in_band + (column - first_) * stored_] = static_cast<Real>(value);
    });
    for (std::int64_t i = 0; i < columns_; ++i) b_.values[i] = static_cast<Real>(right_[first_ + i]);
    this->info_ = 0;
  }

  std::string refusal(int info) const override {
    return sentence({"the matrix is singular: the factorization by ScaLAPACK returned info = ", info});
  }

  // |A x - b| / (eps n |A| |x|)
  std::string problem(std::uint64_t) override {
    Vector x(this->n_);
    for (std::int64_t i = 0; i < columns_; ++i) x[first_ + i] = static_cast<double>(b_.values[i]);
    x = summed(std::move(x), this->communicator_);
    Vector product(this->n_);
    Vector magnitudes(this->n_);
    for_each([&](std::int64_t row, std::int64_t column, double value) {
      product[row] += value * x[column];
      magnitudes[row] += std::abs(value);
    });
    product = summed(std::move(product), this->communicator_);
    const double norm = largest(summed(std::move(magnitudes), this->communicator_));
    return this->beyond(largest_difference(product, right_), norm * largest(x), threshold);
  }

  int band_;
  double condition_;
  int stored_;
  int above_;
  std::int64_t first_;    // column of this process
  std::int64_t columns_;  // number of columns
  Part a_;
  Part b_;
  Workspace<Real> fill_in_;
  Workspace<Real> work_;
  std::optional<KnownBand> matrix_;
  Vector right_;

 private:
  // The number of columns per process, which must suffice for the coupling with its neighbors.
  static int block(const Parameters& parameters, const Communicator& communicator, std::int64_t needed) {
    const std::int64_t n = parameters.integer("n");
    const std::int64_t band = parameters.integer("band");
    const std::int64_t parts = communicator.size();
    if (n <= band) throw Unavailable(sentence({"band=", band, ": must be less than n=", n}));
    if (parts == 1) return static_cast<int>(n);
    const std::int64_t size = (n + parts - 1) / parts;
    if (n - (parts - 1) * size < needed) {
      throw Unavailable(sentence({"every rank needs ", needed, " columns: n=", n, " on ", parts,
                                  " ranks is too small; n=", parts * std::max(needed, size), " would work"}));
    }
    return static_cast<int>(size);
  }

  // Visits every element of the band in the columns of this process, rounded to the precision.
  template <class Action>
  void for_each(Action action) const {
    for (std::int64_t column = first_; column < first_ + columns_; ++column) {
      const std::int64_t last = std::min<std::int64_t>(this->n_ - 1, column + band_);
      for (std::int64_t row = std::max<std::int64_t>(0, column - band_); row <= last; ++row)
        action(row, column, static_cast<double>(static_cast<Real>(element(row, column))));
    }
  }
};

template <class Real>
class BandLu final : public BandSolve<Real> {
 public:
  BandLu(const Parameters& parameters, const Communicator& communicator)
      : BandSolve<Real>(parameters, communicator, 4 * this->band(parameters) + 1, 3 * this->band(parameters),
                        2 * this->band(parameters) + 1),
        pivots_(this->block_ + 2 * this->band_) {
    const std::size_t band = this->band_;
    this->fill_in_.resize((this->block_ + band) * 2 * band + 6 * 2 * band * 3 * band + 1);
    this->work_.resize(this->block_ + 6 * band + 1);
  }

  // Factorization: 2 n l (l + u), without fill-in from pivoting; solution: l diagonals below and l + u above.
  Work work() const override {
    const double n = this->n_;
    const double band = this->band_;
    return {.flops = 4 * n * band * band + 6 * n * band};
  }

 private:
  double element(std::int64_t row, std::int64_t column) const override {
    return this->matrix_->general(row, column);
  }
  void begin() override {
    factorize_(this->n_, this->band_, this->band_, this->a_, pivots_, this->fill_in_, this->work_, this->info_);
  }
  void finish() override {
    if (this->info_ == 0)
      solve_("N", this->n_, this->band_, this->band_, 1, this->a_, pivots_, this->b_, this->fill_in_, this->work_,
             this->info_);
  }

  std::vector<int> pivots_;
  scalapack::Routine factorize_ = this->routine("gbtrf");
  scalapack::Routine solve_ = this->routine("gbtrs");
};

template <class Real>
class BandCholesky final : public BandSolve<Real> {
 public:
  BandCholesky(const Parameters& parameters, const Communicator& communicator)
      : BandSolve<Real>(parameters, communicator, this->band(parameters) + 1, 0, 2 * this->band(parameters)) {
    const std::size_t band = this->band_;
    // pdpbtrf writes beyond the documented (block + 2 band) band (ScaLAPACK 2.2.1).
    this->fill_in_.resize((this->block_ + 8 * band) * band + 1);
    this->work_.resize(std::max(band * band, band) + 1);
  }

  Work work() const override {
    const double n = this->n_;
    const double band = this->band_;
    return {.flops = n * (band + 1) * (band + 1) + 4 * n * band};
  }

 private:
  double element(std::int64_t row, std::int64_t column) const override {
    return this->matrix_->symmetric(row, column);
  }
  void begin() override {
    factorize_("L", this->n_, this->band_, this->a_, this->fill_in_, this->work_, this->info_);
  }
  void finish() override {
    if (this->info_ == 0)
      solve_("L", this->n_, this->band_, 1, this->a_, this->b_, this->fill_in_, this->work_, this->info_);
  }

  scalapack::Routine factorize_ = this->routine("pbtrf");
  scalapack::Routine solve_ = this->routine("pbtrs");
};

Declaration banded(const ScalapackRow& solver) {
  return declaration(
      solver,
      {problem("precision", "double,single", "precision of the matrix and the arithmetic")
           .worded(",single precision"),
       size("n", "", 120, 1, 100'000'000, "order of the matrix").labeled("matrix order").worded("N = {}"),
       problem("band", "", 10, 1, 10'000, "diagonals on either side of the main diagonal")
           .labeled("half bandwidth"),
       problem("condition", "", 1000, 2, 1'000'000'000'000, "upper bound on the matrix's condition number")},
      {{"standard", "ranks=powers n=10000 band=10,64"},
       {"standard", "ranks=2 precision=single n=10000 band=64"},
       {"advanced", "ranks=powers precision=double,single n=100000 band=10,64,200"}});
}

const Registration lu(banded({"algorithm.scalapack_band_lu", "ScaLAPACK band LU",
                              "ScaLAPACK: banded system by LU with pivoting", make_in_precision<BandLu>}));
const Registration cholesky(banded({"algorithm.scalapack_band_cholesky", "ScaLAPACK band Cholesky",
                                    "ScaLAPACK: banded positive definite system by Cholesky factorization",
                                    make_in_precision<BandCholesky>}));

}  // namespace
}  // namespace scope::scalapack_band
