// node.linpack_small: the LINPACK benchmark of 1979: one dense system, factored and solved.
//
// Timed: factorization with partial pivoting and the solution of one system, on every rank at the same time and on
// its own clock; the slowest rank counts. Either written out by columns, like dgefa and dgesl, or LAPACK's dgesv.
#include "benchmark.hpp"
#include "blas/blas.hpp"
#include "blas/dense.hpp"

namespace scope::linpack_small {
namespace {

// As in HPL, which took the threshold from LINPACK.
constexpr double threshold = 16;

// y += factor x
void add_multiple(std::size_t n, double factor, const double* x, double* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

// Overwrites A with its factors and b with the solution. Returns false if A is singular.
bool solve_written_out(Vector& a, Vector& b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    double* column = &a[k * n];
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(column[i]) > std::abs(column[pivot])) pivot = i;
    if (column[pivot] == 0) return false;
    std::swap(column[k], column[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) column[i] /= -column[k];
    for (std::size_t j = k + 1; j < n; ++j) {
      std::swap(a[k + j * n], a[pivot + j * n]);
      add_multiple(n - k - 1, a[k + j * n], column + k + 1, &a[k + 1 + j * n]);
    }
    add_multiple(n - k - 1, b[k], column + k + 1, &b[k + 1]);
  }
  for (std::size_t k = n; k-- > 0;) {
    b[k] /= a[k + k * n];
    add_multiple(k, -b[k], &a[k * n], b.data());
  }
  return true;
}

class Linpack final : public Benchmark {
 public:
  Linpack(const Parameters& parameters, const Communicator& communicator)
      : n_(static_cast<int>(parameters.integer("n"))),
        ranks_(communicator.size()),
        rank_(communicator.rank()),
        original_(static_cast<std::size_t>(n_) * n_),
        right_side_(n_),
        x_(n_),
        pivots_(n_) {
    if (parameters.choice("solver") == "lapack") solve_.emplace("dgesv");
  }

  Work work() const override { return {.flops = (2.0 / 3 * n_ + 2.0) * n_ * n_ * ranks_}; }

  // The right-hand side is the sum of each row, so that the solution is near 1.
  void fill(std::uint64_t seed) override {
    fill_random(std::span(original_), seed * ranks_ + rank_);
    right_side_ = multiply(original_.data(), Vector(n_, 1.0));
  }

  void run(Repetition& repetition) override {
    a_ = original_;
    x_ = right_side_;
    if (solve_) {
      int info = 0;
      repetition.time([&] { (*solve_)(n_, 1, a_, n_, pivots_, x_, n_, info); });
      solved_ = info == 0;
    } else {
      repetition.time([&] { solved_ = solve_written_out(a_, x_); });
    }
  }

  Check verify(std::uint64_t) override {
    if (!solved_) return {n_, "the matrix is singular"};
    const double scale =
        epsilon * n_ * (row_norm(std::span<const double>(original_), n_) * largest(x_) + largest(right_side_));
    const double residual = largest_difference(multiply(original_.data(), x_), right_side_) / scale;
    if (!(residual < threshold)) return {n_, sentence({"scaled residual ", residual, ", must be below 16"})};
    return {n_, ""};
  }

  std::span<std::byte> received() override { return std::as_writable_bytes(std::span(x_)); }

  bool loops() const override { return false; }

 private:
  int n_;
  int ranks_;
  int rank_;
  std::optional<blas::Routine> solve_;
  Vector original_;
  Vector right_side_;
  Vector a_;
  Vector x_;
  std::vector<int> pivots_;
  bool solved_ = false;
};

const Registration registration{{
    .name = "node.linpack_small",
    .title = "LINPACK 100, 300 and 1000",
    .summary = "LINPACK (1979): dense system of 100, 300 or 1000 equations",
    .rungs = {arithmetic()},
    .parameters = {size("n", "", 100, 1, 20'000, "number of equations on each rank")
                       .labeled("equations")
                       .worded("1=1 equation,{} equations"),
                   method("solver", "plain,lapack", "plain loops, or LAPACK's dgesv").worded(",LAPACK")},
    .definition = Definition::max_rank,
    .metrics = {flops_per_second(), seconds("time_s")},
    .sweeps = {{"baseline", "nodes=types ranks=1 n=100 solver=plain"},
               {"baseline", "nodes=types ranks=1 n=1000 solver=lapack"},
               {"standard", "nodes=types ranks=1,all n=100,300,1000 solver=plain,lapack"}},
    .make = make<Linpack>,
}};

}  // namespace
}  // namespace scope::linpack_small
