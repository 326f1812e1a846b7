// algorithm.scalapack_symmetric_eigen: all eigenvalues and eigenvectors of a symmetric matrix by ScaLAPACK.
//
// Timed: pdsyevd (tridiagonal reduction, divide and conquer, back-transformation) on every rank; the slowest
// counts.
//
// Not for sanitizers: they cannot see into ScaLAPACK, without which nothing runs.

#include "benchmarks/algorithm/scalapack_case.hpp"

namespace scope::scalapack_symmetric_eigen {
namespace {

constexpr double threshold = 80;  // of ScaLAPACK's test program: SEP.dat

template <class Real>
class SymmetricEigen final : public ScalapackCase<Real> {
 public:
  SymmetricEigen(const Parameters& parameters, const Communicator& communicator)
      : ScalapackCase<Real>(parameters, communicator, 4),
        condition_(static_cast<double>(parameters.integer("condition"))),
        a_(this->square()),
        z_(this->square()),
        values_(this->n_) {
    const int edge = std::max(this->grid_.rows(), this->grid_.columns());
    if (this->n_ <= (edge - 1) * std::int64_t{this->block_}) {
      // If a process is empty, pdsyevd aborts the program (ScaLAPACK 2.2.1).
      const int fitting = edge > 1 ? (this->n_ - 1) / (edge - 1) : this->n_;
      throw Unavailable(
          sentence({"pdsyevd needs a part of the matrix on every rank; with n=", this->n_, " block=", this->block_,
                    " a rank has no part", (fitting > 0 ? sentence({"; block=", fitting, " would work"}) : "")}));
    }
    decompose();
    // pdsyevd requests too little workspace for its pdormtr if blocks are large (ScaLAPACK 2.2.1).
    const std::size_t sides = a_.layout.rows.local() + a_.layout.columns.local() + 3 * this->block_;
    work_.allocate(sides * this->block_);
    integers_.allocate();
  }

  // Reduction and back-transformation only; the number of operations between them depends on the values.
  Work work() const override {
    const double n = this->n_;
    return {.flops = 10.0 / 3 * n * n * n};
  }

  void fill(std::uint64_t seed) override { matrix_.emplace(this->n_, condition_, seed, true); }

  std::span<std::byte> received() override { return z_.bytes(); }
  std::vector<std::span<const std::byte>> computed() override { return {std::as_bytes(std::span(values_))}; }
  // On more processes, rounding differs from run to run.
  bool repeats() const override { return this->communicator_.size() <= 2; }

 private:
  void prepare() override {
    a_.fill(*matrix_);
    this->info_ = 0;
  }
  void begin() override { decompose(); }
  void decompose() { decompose_("V", "L", this->n_, a_, values_, z_, work_, integers_, this->info_); }
  std::map<std::string, double> phases(double, double) const override { return {}; }

  // Compares the eigenvalues with the known ones (Weyl: within |E|), and checks |A Z v - Z (w v)| and
  // |Z^T Z v - v| for a vector without zeros.
  std::string problem(std::uint64_t seed) override {
    const Communicator& communicator = this->communicator_;
    const Vector& known = matrix_->singular_values();
    const Vector found(values_.rbegin(), values_.rend());
    if (auto text = this->beyond(largest_difference(found, known), 1, threshold); !text.empty())
      return "eigenvalues: " + text;
    const Vector v = probe(this->n_, seed);
    Vector scaled = v;
    for (int i = 0; i < this->n_; ++i) scaled[i] *= static_cast<double>(values_[i]);
    const auto original = rounded<Real>(*matrix_);
    const Vector zv = distributed_product(z_.layout, z_.stored(), v, communicator);
    const Vector left = distributed_product(a_.layout, original, zv, communicator);
    const Vector right = distributed_product(z_.layout, z_.stored(), scaled, communicator);
    const double scale = distributed_row_norm(a_.layout, original, communicator) * largest(v);
    if (auto text = this->beyond(largest_difference(left, right), scale, threshold); !text.empty())
      return "eigenvectors: " + text;
    const Vector back = distributed_product(z_.layout, z_.stored(), zv, communicator, true);
    if (auto text = this->beyond(largest_difference(back, v), largest(v), threshold); !text.empty())
      return "orthogonality: " + text;
    return "";
  }

  double condition_;
  Distributed<Real> a_;
  Distributed<Real> z_;
  std::vector<Real> values_;
  Workspace<Real> work_;
  Workspace<int> integers_;
  std::optional<KnownCondition> matrix_;
  scalapack::Routine decompose_ = this->routine("syevd");
};

const Registration registration(declaration({"algorithm.scalapack_symmetric_eigen",
                                             "ScaLAPACK symmetric eigenvalues",
                                             "ScaLAPACK: eigenvalues and eigenvectors of a symmetric matrix",
                                             make_in_precision<SymmetricEigen>,
                                             {}},
                                            scalapack_parameters({condition_parameter()}),
                                            {{"standard", "ranks=powers n=500"},
                                             {"standard", "ranks=2 precision=single n=500"},
                                             {"advanced",
                                              "ranks=powers precision=double,single n=1000 block=32,64"}}));

}  // namespace
}  // namespace scope::scalapack_symmetric_eigen
