// node.lapack: factorizations, decompositions and solutions of dense systems by the LAPACK supplied with the BLAS.
//
// Timed: one call on every rank at the same time, each with its own matrix and clock; the slowest rank counts.
// The routines overwrite their matrix, so every repetition is one call on a copy made beforehand.
#include "benchmark.hpp"
#include "blas/blas.hpp"
#include "blas/dense.hpp"
#include "processors/processors.hpp"

namespace scope::lapack {
namespace {

// LAPACK's own tests accept residuals below 30 (LAWN 41, section 7).
constexpr double threshold = 30;

// Input and output of a routine; matrices are n by n, stored by columns.
template <class Real>
struct Problem {
  explicit Problem(int size)
      : n(size), original(square()), a(square()), diagonal(size), right_side(size), pivots(size) {}

  std::size_t square() const { return static_cast<std::size_t>(n) * n; }

  int n;
  std::vector<Real> original;
  std::vector<Real> a;
  std::vector<Real> u;
  std::vector<Real> vt;
  std::vector<Real> diagonal;  // tau, eigenvalues, singular values, or the solution
  std::vector<Real> right_side;
  std::vector<int> pivots;
  Workspace<Real> work;
  Workspace<int> integer_work;
  int info = 0;
};

template <class Real>
double scaled(const Vector& one, const Vector& other, double norm, const Vector& x) {
  const double scale = static_cast<double>(x.size()) * std::numeric_limits<Real>::epsilon() * norm * largest(x);
  return largest_difference(one, other) / scale;
}
template <class Real>
double norm(const Problem<Real>& p) {
  return row_norm(std::span<const Real>(p.original), p.n);
}

// Compares P A x with L (U x).
template <class Real>
double lu_residual(const Problem<Real>& p, const Vector& x) {
  const std::size_t n = p.n;
  Vector ux(n);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i <= j; ++i) ux[i] += p.a[i + j * n] * x[j];
  Vector lux = ux;
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = j + 1; i < n; ++i) lux[i] += p.a[i + j * n] * ux[j];
  Vector ax = multiply(p.original.data(), x);
  for (std::size_t i = 0; i < n; ++i) {
    const int other = p.pivots[i] - 1;
    if (other < 0 || other >= p.n) return std::numeric_limits<double>::infinity();
    std::swap(ax[i], ax[other]);
  }
  return scaled<Real>(lux, ax, norm(p), x);
}

// Compares A x with L (L^T x).
template <class Real>
double cholesky_residual(const Problem<Real>& p, const Vector& x) {
  const std::size_t n = p.n;
  Vector ltx(n);
  Vector lltx(n);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) ltx[j] += p.a[i + j * n] * x[i];
    for (std::size_t i = j; i < n; ++i) lltx[i] += p.a[i + j * n] * ltx[j];
  }
  return scaled<Real>(lltx, multiply(p.original.data(), x), norm(p), x);
}

// y - tau v (v^T y), where v is 0 above row k, 1 in row k, and the result of dgeqrf in column k below it.
template <class Real>
void reflect(const Problem<Real>& p, std::size_t k, Vector& y) {
  const std::size_t n = p.n;
  double product = y[k];
  for (std::size_t i = k + 1; i < n; ++i) product += p.a[i + k * n] * y[i];
  product *= p.diagonal[k];
  y[k] -= product;
  for (std::size_t i = k + 1; i < n; ++i) y[i] -= product * p.a[i + k * n];
}

// Compares A x with Q (R x), and Q^T Q x with x.
template <class Real>
double qr_residual(const Problem<Real>& p, const Vector& x) {
  const std::size_t n = p.n;
  Vector rx(n);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i <= j; ++i) rx[i] += p.a[i + j * n] * x[j];
  Vector back = x;
  for (std::size_t k = n; k-- > 0;) {
    reflect(p, k, rx);
    reflect(p, k, back);
  }
  for (std::size_t k = 0; k < n; ++k) reflect(p, k, back);
  return std::max(scaled<Real>(rx, multiply(p.original.data(), x), norm(p), x), scaled<Real>(back, x, 1, x));
}

// Compares A V x with V (D x), and V^T V x with x; eigenvalues must ascend.
template <class Real>
double eigen_residual(const Problem<Real>& p, const Vector& x) {
  if (!std::is_sorted(p.diagonal.begin(), p.diagonal.end())) return std::numeric_limits<double>::infinity();
  Vector dx = x;
  for (std::size_t i = 0; i < dx.size(); ++i) dx[i] *= p.diagonal[i];
  const Vector vx = multiply(p.a.data(), x);
  return std::max(scaled<Real>(multiply(p.original.data(), vx), multiply(p.a.data(), dx), norm(p), x),
                  scaled<Real>(multiply(p.a.data(), vx, true), x, 1, x));
}

// Compares A x with U (S (V^T x)), U^T U x and V V^T x with x; singular values must descend and not be negative.
template <class Real>
double singular_residual(const Problem<Real>& p, const Vector& x) {
  const bool ordered = std::is_sorted(p.diagonal.rbegin(), p.diagonal.rend()) && p.diagonal.back() >= 0;
  if (!ordered) return std::numeric_limits<double>::infinity();
  Vector svx = multiply(p.vt.data(), x);
  const Vector right = multiply(p.vt.data(), svx, true);
  for (std::size_t i = 0; i < svx.size(); ++i) svx[i] *= p.diagonal[i];
  const Vector left = multiply(p.u.data(), multiply(p.u.data(), x), true);
  return std::max({scaled<Real>(multiply(p.u.data(), svx), multiply(p.original.data(), x), norm(p), x),
                   scaled<Real>(left, x, 1, x), scaled<Real>(right, x, 1, x)});
}

// The drivers solve one system with one right-hand side; compares A x with b.
template <class Real>
double solution_residual(const Problem<Real>& p, const Vector&) {
  const Vector x(p.diagonal.begin(), p.diagonal.end());
  const Vector b(p.right_side.begin(), p.right_side.end());
  if (!(largest(x) > 0)) return std::numeric_limits<double>::infinity();
  return scaled<Real>(multiply(p.original.data(), x), b, norm(p), x);
}

// One routine: its call, and a comparison of the effects of its result and of the matrix on a vector.
template <class Real>
struct Routine {
  std::function<void(Problem<Real>&)> call;
  // The larger of the scaled residual and the scaled loss of orthogonality.
  double (*residual)(const Problem<Real>&, const Vector& x);
  double (*flops)(double n) = [](double) { return 0.0; };  // 0 if they depend on the matrix
  bool symmetric = false;
  bool solves = false;
  bool decomposes = false;  // into U, singular values and V^T
  bool has_workspace = false;
};

template <class Real>
Routine<Real> routine(const std::string& name) {
  using P = Problem<Real>;
  if (name == "lu")
    return {.call = [f = blas::routine<Real>("getrf")](P& p) { f(p.n, p.n, p.a, p.n, p.pivots, p.info); },
            .residual = lu_residual<Real>,
            .flops = [](double n) { return 2.0 / 3 * n * n * n - 0.5 * n * n + 5.0 / 6 * n; }};
  if (name == "cholesky")
    return {.call = [f = blas::routine<Real>("potrf")](P& p) { f("L", p.n, p.a, p.n, p.info); },
            .residual = cholesky_residual<Real>,
            .flops = [](double n) { return n * n * n / 3 + n * n / 2 + n / 6; },
            .symmetric = true};
  if (name == "qr")
    return {
        .call = [f = blas::routine<Real>("geqrf")](P& p) { f(p.n, p.n, p.a, p.n, p.diagonal, p.work, p.info); },
        .residual = qr_residual<Real>,
        .flops = [](double n) { return 4.0 / 3 * n * n * n + 2 * n * n + 14.0 / 3 * n; },
        .has_workspace = true};
  if (name == "eigenvalues")
    return {.call = [f = blas::routine<Real>("syevd")](
                        P& p) { f("V", "L", p.n, p.a, p.n, p.diagonal, p.work, p.integer_work, p.info); },
            .residual = eigen_residual<Real>,
            .symmetric = true,
            .has_workspace = true};
  if (name == "singular_values")
    return {.call =
                [f = blas::routine<Real>("gesdd")](P& p) {
                  f("A", p.n, p.n, p.a, p.n, p.diagonal, p.u, p.n, p.vt, p.n, p.work, p.integer_work.items,
                    p.info);
                },
            .residual = singular_residual<Real>,
            .decomposes = true,
            .has_workspace = true};
  if (name == "gesv")
    return {.call = [f = blas::routine<Real>("gesv")](
                        P& p) { f(p.n, 1, p.a, p.n, p.pivots, p.diagonal, p.n, p.info); },
            .residual = solution_residual<Real>,
            .flops = [](double n) { return 2.0 / 3 * n * n * n + 1.5 * n * n + 5.0 / 6 * n; },
            .solves = true};
  if (name == "posv")
    return {.call = [f = blas::routine<Real>("posv")](P& p) { f("L", p.n, 1, p.a, p.n, p.diagonal, p.n, p.info); },
            .residual = solution_residual<Real>,
            .flops = [](double n) { return n * n * n / 3 + 2.5 * n * n + n / 6; },
            .symmetric = true,
            .solves = true};
  return {.call = [f = blas::routine<Real>("gels")](
                      P& p) { f("N", p.n, p.n, 1, p.a, p.n, p.diagonal, p.n, p.work, p.info); },
          .residual = solution_residual<Real>,
          .flops = [](double n) { return 4.0 / 3 * n * n * n + 5 * n * n + 14.0 / 3 * n; },
          .solves = true,
          .has_workspace = true};
}

// Sets the number of the library's threads for the lifetime of a case.
class Threads : NotCopied {
 public:
  explicit Threads(std::int64_t asked) {
    const auto usable = static_cast<std::int64_t>(allowed_processors().size());
    number_ = static_cast<int>(asked == 0 ? usable : asked);
    if (number_ > usable) {
      throw Unavailable(sentence({"threads=", asked, ": must be at most ", usable,
                                  ", the number of the rank's processors (placement=none does not bind ranks)"}));
    }
    blas::set_threads(number_);
  }
  ~Threads() { blas::set_threads(1); }

  int number() const { return number_; }

 private:
  int number_;
};

template <class Real>
class Lapack final : public Benchmark {
 public:
  Lapack(const Parameters& parameters, const Communicator& communicator)
      : threads_(parameters.integer("threads")),
        routine_(routine<Real>(parameters.choice("routine"))),
        problem_(static_cast<int>(parameters.integer("n"))),
        ranks_(communicator.size()),
        rank_(communicator.rank()) {
    if (routine_.decomposes) {
      problem_.u.resize(problem_.square());
      problem_.vt.resize(problem_.square());
    }
    if (routine_.has_workspace) {
      routine_.call(problem_);
      problem_.work.allocate();
      problem_.integer_work.allocate();
    }
    if (routine_.decomposes) problem_.integer_work.resize(8 * static_cast<std::size_t>(problem_.n));
  }

  Work work() const override { return {.flops = routine_.flops(problem_.n) * ranks_}; }

  void fill(std::uint64_t seed) override {
    fill_random(std::span(problem_.original), seed * ranks_ + rank_);
    if (routine_.symmetric) make_symmetric_and_definite();
    fill_random(std::span(problem_.right_side), ~(seed * ranks_ + rank_));
  }

  void run(Repetition& repetition) override {
    problem_.a = problem_.original;
    if (routine_.solves) problem_.diagonal = problem_.right_side;
    repetition.time([&] { routine_.call(problem_); });
    repetition.observe("threads_used", threads_.number());
  }

  Check verify(std::uint64_t seed) override {
    const auto values = static_cast<std::int64_t>(problem_.square());
    if (problem_.info != 0) return {values, sentence({"LAPACK reports info = ", problem_.info})};
    const double residual = routine_.residual(problem_, probe(problem_.n, seed));
    if (!(residual < threshold)) return {values, sentence({"scaled residual ", residual, ", must be below 30"})};
    return {values, ""};
  }

  std::span<std::byte> received() override {
    if (routine_.solves) return std::as_writable_bytes(std::span(problem_.diagonal));
    return std::as_writable_bytes(std::span(problem_.u.empty() ? problem_.a : problem_.u));
  }

  bool loops() const override { return false; }

 private:
  // Diagonally dominant, with n on the diagonal and values below 0.5 elsewhere.
  void make_symmetric_and_definite() {
    auto& a = problem_.original;
    const std::size_t n = problem_.n;
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < j; ++i) a[i + j * n] = a[j + i * n];
      a[j + j * n] += static_cast<Real>(n);
    }
  }

  Threads threads_;
  Routine<Real> routine_;
  Problem<Real> problem_;
  int ranks_;
  int rank_;
};

const Registration registration{{
    .name = "node.lapack",
    .title = "LAPACK",
    .summary = "factorizations, linear solves, symmetric eigenvalues and singular values by LAPACK",
    .needs = {Requirement::blas, Requirement::lapack},
    .rungs = {{Pattern::arithmetic, "flops_per_s", "routine=*"}},
    .parameters = {problem("routine", "lu,cholesky,qr,eigenvalues,singular_values,gesv,posv,gels",
                           "xGETRF, xPOTRF, xGEQRF, xSYEVD, xGESDD, xGESV, xPOSV or xGELS")
                       .worded("LU,Cholesky,QR,eigenvalues,singular values,xGESV,xPOSV,xGELS"),
                   problem("precision", "double,single", "double or single precision").worded(",single precision"),
                   parallel("threads", "", 1, 0, 4096,
                            "number of threads of the library; 0: one for each processor that the rank may use")
                       .worded("0=one thread per processor,{} threads"),
                   size("n", "", 200, 1, 20'000, "order of the matrix on each rank")
                       .labeled("matrix order")
                       .worded("N = {}")},
    .definition = Definition::max_rank,
    .metrics = {seconds("time_s"), flops_per_second(), count("threads_used").labeled("threads")},
    .sweeps = {{"baseline", "nodes=types ranks=1 routine=lu,cholesky,qr n=200"},
               {"baseline", "nodes=types ranks=1 routine=eigenvalues,singular_values n=100"},
               {"standard", "nodes=types ranks=1,all routine=lu,cholesky,qr n=100,200,500,1000"},
               {"standard", "nodes=types ranks=1,all routine=eigenvalues,singular_values n=100,200,300"},
               {"standard",
                "nodes=types ranks=1 routine=gesv,posv,gels,lu,cholesky,qr precision=double,single n=500,1000"},
               {"standard",
                "nodes=types ranks=1 placement=none threads=0 routine=gesv,posv,gels,lu,cholesky,qr "
                "precision=double,single n=500,1000"}},
    .make = make_in_precision<Lapack>,
}};

}  // namespace
}  // namespace scope::lapack
