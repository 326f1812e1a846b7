// node.lapack: factorisations and decompositions of dense matrices by the LAPACK that comes with the BLAS.
//
// Timed: one call on every rank at the same time, each on its own matrix and clock; the slowest rank counts.
// The routines overwrite their matrix, so every repetition is one call on a copy made before.
#include "benchmark.hpp"
#include "blas/blas.hpp"
#include "blas/dense.hpp"
#include "memory/buffer.hpp"
#include "text/words.hpp"

namespace scope::lapack {
namespace {

// LAPACK's own tests accept residuals below 30 (LAWN 41, section 7).
constexpr double threshold = 30;

using LuFactor = void(const int* m, const int* n, double* a, const int* leading, int* pivots, int* info);
using CholeskyFactor = void(const char* triangle, const int* n, double* a, const int* leading, int* info,
                            CharacterLength);
using QrFactor = void(const int* m, const int* n, double* a, const int* leading, double* tau, double* work,
                      const int* work_size, int* info);
using SymmetricEigen = void(const char* vectors, const char* triangle, const int* n, double* a,
                            const int* leading, double* eigenvalues, double* work, const int* work_size,
                            int* integer_work, const int* integer_work_size, int* info, CharacterLength,
                            CharacterLength);
using SingularValues = void(const char* vectors, const int* m, const int* n, double* a, const int* leading,
                            double* values, double* u, const int* leading_u, double* vt,
                            const int* leading_vt, double* work, const int* work_size, int* integer_work,
                            int* info, CharacterLength);

// Input and output of a routine; matrices are n by n, by columns.
struct Problem {
  explicit Problem(int size)
      : n(size), original(square()), a(square()), u(), vt(), diagonal(size), pivots(size) {}

  std::size_t square() const { return static_cast<std::size_t>(n) * n; }

  int n;
  Vector original;
  Vector a;
  Vector u;
  Vector vt;
  Vector diagonal;  // tau, eigenvalues or singular values
  std::vector<int> pivots;
  Vector work;
  std::vector<int> integer_work;
  int info = 0;
};

// One routine: its call, and the effect of its result on a vector compared with that of the matrix.
class Routine {
 public:
  virtual ~Routine() = default;
  virtual double flops(double n) const = 0;  // 0 where they depend on the matrix
  virtual bool symmetric() const { return false; }
  virtual void prepare(Problem&) {}  // queries the workspace
  virtual void call(Problem& problem) const = 0;
  // The larger of the scaled residual and the scaled loss of orthogonality.
  virtual double residual(const Problem& problem, const Vector& x) const = 0;

 protected:
  static double scaled(const Vector& one, const Vector& other, double norm, const Vector& x) {
    const double scale = static_cast<double>(x.size()) * epsilon * norm * largest(x);
    return largest_difference(one, other) / scale;
  }
  static double norm(const Problem& problem) { return row_norm(problem.original, problem.n); }
};

class Lu final : public Routine {
 public:
  double flops(double n) const override { return 2.0 / 3 * n * n * n - 0.5 * n * n + 5.0 / 6 * n; }
  void call(Problem& p) const override { factor_(&p.n, &p.n, p.a.data(), &p.n, p.pivots.data(), &p.info); }

  // P A x against L (U x)
  double residual(const Problem& p, const Vector& x) const override {
    const std::size_t n = p.n;
    Vector ux(n);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i <= j; ++i) ux[i] += p.a[i + j * n] * x[j];
    }
    Vector lux = ux;
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = j + 1; i < n; ++i) lux[i] += p.a[i + j * n] * ux[j];
    }
    Vector ax = multiply(p.original.data(), x);
    for (std::size_t i = 0; i < n; ++i) {
      const int other = p.pivots[i] - 1;
      if (other < 0 || other >= p.n) return std::numeric_limits<double>::infinity();
      std::swap(ax[i], ax[other]);
    }
    return scaled(lux, ax, norm(p), x);
  }

 private:
  LuFactor* factor_ = blas::routine<LuFactor>("dgetrf");
};

class Cholesky final : public Routine {
 public:
  double flops(double n) const override { return n * n * n / 3 + n * n / 2 + n / 6; }
  bool symmetric() const override { return true; }
  void call(Problem& p) const override { factor_("L", &p.n, p.a.data(), &p.n, &p.info, 1); }

  // A x against L (L^T x)
  double residual(const Problem& p, const Vector& x) const override {
    const std::size_t n = p.n;
    Vector ltx(n);
    Vector lltx(n);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = j; i < n; ++i) ltx[j] += p.a[i + j * n] * x[i];
      for (std::size_t i = j; i < n; ++i) lltx[i] += p.a[i + j * n] * ltx[j];
    }
    return scaled(lltx, multiply(p.original.data(), x), norm(p), x);
  }

 private:
  CholeskyFactor* factor_ = blas::routine<CholeskyFactor>("dpotrf");
};

class Qr final : public Routine {
 public:
  double flops(double n) const override { return 4.0 / 3 * n * n * n + 2 * n * n + 14.0 / 3 * n; }

  void prepare(Problem& p) override {
    double best = 0;
    const int ask = -1;
    factor_(&p.n, &p.n, p.a.data(), &p.n, p.diagonal.data(), &best, &ask, &p.info);
    p.work.resize(static_cast<std::size_t>(best));
  }

  void call(Problem& p) const override {
    const int size = static_cast<int>(p.work.size());
    factor_(&p.n, &p.n, p.a.data(), &p.n, p.diagonal.data(), p.work.data(), &size, &p.info);
  }

  // A x against Q (R x), and Q^T Q x against x
  double residual(const Problem& p, const Vector& x) const override {
    const std::size_t n = p.n;
    Vector rx(n);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i <= j; ++i) rx[i] += p.a[i + j * n] * x[j];
    }
    Vector back = x;
    for (std::size_t k = n; k-- > 0;) {
      reflect(p, k, rx);
      reflect(p, k, back);
    }
    for (std::size_t k = 0; k < n; ++k) reflect(p, k, back);
    return std::max(scaled(rx, multiply(p.original.data(), x), norm(p), x), scaled(back, x, 1, x));
  }

 private:
  // y - tau v (v^T y), where v is 0 above row k, 1 in it, and below it what dgeqrf left in column k.
  static void reflect(const Problem& p, std::size_t k, Vector& y) {
    const std::size_t n = p.n;
    double product = y[k];
    for (std::size_t i = k + 1; i < n; ++i) product += p.a[i + k * n] * y[i];
    product *= p.diagonal[k];
    y[k] -= product;
    for (std::size_t i = k + 1; i < n; ++i) y[i] -= product * p.a[i + k * n];
  }

  QrFactor* factor_ = blas::routine<QrFactor>("dgeqrf");
};

class Eigen final : public Routine {
 public:
  double flops(double) const override { return 0; }
  bool symmetric() const override { return true; }

  void prepare(Problem& p) override {
    double best = 0;
    int best_integers = 0;
    const int ask = -1;
    solve_("V", "L", &p.n, p.a.data(), &p.n, p.diagonal.data(), &best, &ask, &best_integers, &ask, &p.info, 1,
           1);
    p.work.resize(static_cast<std::size_t>(best));
    p.integer_work.resize(best_integers);
  }

  void call(Problem& p) const override {
    const int size = static_cast<int>(p.work.size());
    const int integers = static_cast<int>(p.integer_work.size());
    solve_("V", "L", &p.n, p.a.data(), &p.n, p.diagonal.data(), p.work.data(), &size, p.integer_work.data(),
           &integers, &p.info, 1, 1);
  }

  // A V x against V (D x), and V^T V x against x; eigenvalues ascend
  double residual(const Problem& p, const Vector& x) const override {
    if (!std::is_sorted(p.diagonal.begin(), p.diagonal.end())) return std::numeric_limits<double>::infinity();
    Vector dx = x;
    for (std::size_t i = 0; i < dx.size(); ++i) dx[i] *= p.diagonal[i];
    const Vector vx = multiply(p.a.data(), x);
    return std::max(scaled(multiply(p.original.data(), vx), multiply(p.a.data(), dx), norm(p), x),
                    scaled(multiply(p.a.data(), vx, true), x, 1, x));
  }

 private:
  SymmetricEigen* solve_ = blas::routine<SymmetricEigen>("dsyevd");
};

class Svd final : public Routine {
 public:
  double flops(double) const override { return 0; }

  void prepare(Problem& p) override {
    p.u.resize(p.square());
    p.vt.resize(p.square());
    p.integer_work.resize(8 * static_cast<std::size_t>(p.n));
    double best = 0;
    const int ask = -1;
    decompose(p, &best, &ask);
    p.work.resize(static_cast<std::size_t>(best));
  }

  void call(Problem& p) const override {
    const int size = static_cast<int>(p.work.size());
    decompose(p, p.work.data(), &size);
  }

  // A x against U (S (V^T x)), U^T U x and V V^T x against x; singular values descend and are not negative
  double residual(const Problem& p, const Vector& x) const override {
    const bool ordered = std::is_sorted(p.diagonal.rbegin(), p.diagonal.rend()) && p.diagonal.back() >= 0;
    if (!ordered) return std::numeric_limits<double>::infinity();
    Vector svx = multiply(p.vt.data(), x);
    const Vector right = multiply(p.vt.data(), svx, true);
    for (std::size_t i = 0; i < svx.size(); ++i) svx[i] *= p.diagonal[i];
    const Vector left = multiply(p.u.data(), multiply(p.u.data(), x), true);
    return std::max({scaled(multiply(p.u.data(), svx), multiply(p.original.data(), x), norm(p), x),
                     scaled(left, x, 1, x), scaled(right, x, 1, x)});
  }

 private:
  void decompose(Problem& p, double* work, const int* size) const {
    decompose_("A", &p.n, &p.n, p.a.data(), &p.n, p.diagonal.data(), p.u.data(), &p.n, p.vt.data(), &p.n,
               work, size, p.integer_work.data(), &p.info, 1);
  }

  SingularValues* decompose_ = blas::routine<SingularValues>("dgesdd");
};

std::unique_ptr<Routine> make_routine(const std::string& name) {
  if (name == "lu") return std::make_unique<Lu>();
  if (name == "cholesky") return std::make_unique<Cholesky>();
  if (name == "qr") return std::make_unique<Qr>();
  if (name == "eigenvalues") return std::make_unique<Eigen>();
  return std::make_unique<Svd>();
}

class Lapack final : public Benchmark {
 public:
  Lapack(const Parameters& parameters, const Communicator& communicator)
      : routine_(make_routine(parameters.choice("routine"))),
        problem_(static_cast<int>(parameters.integer("n"))),
        ranks_(communicator.size()),
        rank_(communicator.rank()) {
    routine_->prepare(problem_);
  }

  Work work() const override { return {.flops = routine_->flops(problem_.n) * ranks_}; }

  void fill(std::uint64_t seed) override {
    fill_random(std::span(problem_.original), seed * ranks_ + rank_);
    if (routine_->symmetric()) make_symmetric_and_definite();
  }

  void run(Repetition& repetition) override {
    problem_.a = problem_.original;
    repetition.time([&] { routine_->call(problem_); });
  }

  Check verify(std::uint64_t seed) override {
    const auto values = static_cast<std::int64_t>(problem_.square());
    if (problem_.info != 0) return {values, sentence({"LAPACK reports info = ", problem_.info})};
    const double residual = routine_->residual(problem_, probe(problem_.n, seed));
    if (!(residual < threshold))
      return {values, sentence({"scaled residual ", residual, ", must be below 30"})};
    return {values, ""};
  }

  std::span<std::byte> received() override {
    return std::as_writable_bytes(std::span(problem_.u.empty() ? problem_.a : problem_.u));
  }

  bool loops() const override { return false; }

 private:
  // Diagonally dominant: n on the diagonal, values below 0.5 elsewhere.
  void make_symmetric_and_definite() {
    auto& a = problem_.original;
    const std::size_t n = problem_.n;
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < j; ++i) a[i + j * n] = a[j + i * n];
      a[j + j * n] += static_cast<double>(n);
    }
  }

  std::unique_ptr<Routine> routine_;
  Problem problem_;
  int ranks_;
  int rank_;
};

const Registration registration{{
    .name = "node.lapack",
    .title = "LAPACK",
    .summary = "LU, Cholesky, QR, symmetric eigenvalues and singular values by LAPACK",
    .needs = {Requirement::blas, Requirement::lapack},
    .rungs = {arithmetic()},
    .parameters = {problem("routine", "lu,cholesky,qr,eigenvalues,singular_values",
                           "dgetrf, dpotrf, dgeqrf, dsyevd or dgesdd")
                       .worded("LU,Cholesky,QR,eigenvalues,singular values"),
                   size("n", "", 200, 1, 20'000, "rows and columns of the matrix on each rank")
                       .labelled("matrix order")},
    .definition = Definition::max_rank,
    .metrics = {seconds("time_s"), flops_per_second()},
    .sweeps = {{"baseline", "nodes=types ranks=1 routine=lu,cholesky,qr n=200"},
               {"baseline", "nodes=types ranks=1 routine=eigenvalues,singular_values n=100"},
               {"standard", "nodes=types ranks=1,all routine=lu,cholesky,qr n=100,200,500,1000"},
               {"standard", "nodes=types ranks=1,all routine=eigenvalues,singular_values n=100,200,300"}},
    .make = make<Lapack>,
}};

}  // namespace
}  // namespace scope::lapack
