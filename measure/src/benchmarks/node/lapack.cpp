// node.lapack: factorizations, decompositions and solutions of dense systems by the LAPACK that comes with the BLAS.
//
// Timed: one call on every rank at the same time, each on its own matrix and clock; the slowest rank counts.
// The routines overwrite their matrix, so every repetition is one call on a copy made before.
#include "benchmark.hpp"
#include "blas/blas.hpp"
#include "blas/dense.hpp"
#include "processors/processors.hpp"

namespace scope::lapack {
namespace {

// LAPACK's own tests accept residuals below 30 (LAWN 41, section 7).
constexpr double threshold = 30;

template <class Real>
using LuFactor = void(const int* m, const int* n, Real* a, const int* leading, int* pivots, int* info);
template <class Real>
using CholeskyFactor = void(const char* triangle, const int* n, Real* a, const int* leading, int* info,
                            CharacterLength);
template <class Real>
using QrFactor = void(const int* m, const int* n, Real* a, const int* leading, Real* tau, Real* work,
                      const int* work_size, int* info);
template <class Real>
using SymmetricEigen = void(const char* vectors, const char* triangle, const int* n, Real* a, const int* leading,
                            Real* eigenvalues, Real* work, const int* work_size, int* integer_work,
                            const int* integer_work_size, int* info, CharacterLength, CharacterLength);
template <class Real>
using SingularValues = void(const char* vectors, const int* m, const int* n, Real* a, const int* leading,
                            Real* values, Real* u, const int* leading_u, Real* vt, const int* leading_vt,
                            Real* work, const int* work_size, int* integer_work, int* info, CharacterLength);
template <class Real>
using Solve = void(const int* n, const int* right_sides, Real* a, const int* leading, int* pivots, Real* b,
                   const int* leading_b, int* info);
template <class Real>
using SolveDefinite = void(const char* triangle, const int* n, const int* right_sides, Real* a, const int* leading,
                           Real* b, const int* leading_b, int* info, CharacterLength);
template <class Real>
using LeastSquares = void(const char* transposed, const int* m, const int* n, const int* right_sides, Real* a,
                          const int* leading, Real* b, const int* leading_b, Real* work, const int* work_size,
                          int* info, CharacterLength);

// `getrf` of this precision.
template <template <class> class Signature, class Real>
Signature<Real>* routine(const std::string& name) {
  return blas::routine<Signature<Real>>((sizeof(Real) == sizeof(double) ? "d" : "s") + name);
}

// Input and output of a routine; matrices are n by n, by columns.
template <class Real>
struct Problem {
  explicit Problem(int size)
      : n(size), original(square()), a(square()), u(), vt(), diagonal(size), right_side(size), pivots(size) {}

  std::size_t square() const { return static_cast<std::size_t>(n) * n; }

  int n;
  std::vector<Real> original;
  std::vector<Real> a;
  std::vector<Real> u;
  std::vector<Real> vt;
  std::vector<Real> diagonal;  // tau, eigenvalues, singular values, or the solution
  std::vector<Real> right_side;
  std::vector<int> pivots;
  std::vector<Real> work;
  std::vector<int> integer_work;
  int info = 0;
};

// One routine: its call, and the effect of its result on a vector compared with that of the matrix.
template <class Real>
class Routine {
 public:
  using Problem = lapack::Problem<Real>;

  virtual ~Routine() = default;
  virtual double flops(double n) const = 0;  // 0 where they depend on the matrix
  virtual bool symmetric() const { return false; }
  virtual bool solves() const { return false; }
  virtual void prepare(Problem&) {}  // queries the workspace
  virtual void call(Problem& problem) const = 0;
  // The larger of the scaled residual and the scaled loss of orthogonality.
  virtual double residual(const Problem& problem, const Vector& x) const = 0;

 protected:
  static double scaled(const Vector& one, const Vector& other, double norm, const Vector& x) {
    const double scale = static_cast<double>(x.size()) * std::numeric_limits<Real>::epsilon() * norm * largest(x);
    return largest_difference(one, other) / scale;
  }
  static double norm(const Problem& problem) {
    return row_norm(std::span<const Real>(problem.original), problem.n);
  }
};

template <class Real>
class Lu final : public Routine<Real> {
 public:
  using Problem = lapack::Problem<Real>;

  double flops(double n) const override { return 2.0 / 3 * n * n * n - 0.5 * n * n + 5.0 / 6 * n; }
  void call(Problem& p) const override { factor_(&p.n, &p.n, p.a.data(), &p.n, p.pivots.data(), &p.info); }

  // P A x against L (U x)
  double residual(const Problem& p, const Vector& x) const override {
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
    return this->scaled(lux, ax, this->norm(p), x);
  }

 private:
  LuFactor<Real>* factor_ = routine<LuFactor, Real>("getrf");
};

template <class Real>
class Cholesky final : public Routine<Real> {
 public:
  using Problem = lapack::Problem<Real>;

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
    return this->scaled(lltx, multiply(p.original.data(), x), this->norm(p), x);
  }

 private:
  CholeskyFactor<Real>* factor_ = routine<CholeskyFactor, Real>("potrf");
};

template <class Real>
class Qr final : public Routine<Real> {
 public:
  using Problem = lapack::Problem<Real>;

  double flops(double n) const override { return 4.0 / 3 * n * n * n + 2 * n * n + 14.0 / 3 * n; }

  void prepare(Problem& p) override {
    Real best = 0;
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
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i <= j; ++i) rx[i] += p.a[i + j * n] * x[j];
    Vector back = x;
    for (std::size_t k = n; k-- > 0;) {
      reflect(p, k, rx);
      reflect(p, k, back);
    }
    for (std::size_t k = 0; k < n; ++k) reflect(p, k, back);
    return std::max(this->scaled(rx, multiply(p.original.data(), x), this->norm(p), x),
                    this->scaled(back, x, 1, x));
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

  QrFactor<Real>* factor_ = routine<QrFactor, Real>("geqrf");
};

template <class Real>
class Eigen final : public Routine<Real> {
 public:
  using Problem = lapack::Problem<Real>;

  double flops(double) const override { return 0; }
  bool symmetric() const override { return true; }

  void prepare(Problem& p) override {
    Real best = 0;
    int best_integers = 0;
    const int ask = -1;
    solve_("V", "L", &p.n, p.a.data(), &p.n, p.diagonal.data(), &best, &ask, &best_integers, &ask, &p.info, 1, 1);
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
    return std::max(this->scaled(multiply(p.original.data(), vx), multiply(p.a.data(), dx), this->norm(p), x),
                    this->scaled(multiply(p.a.data(), vx, true), x, 1, x));
  }

 private:
  SymmetricEigen<Real>* solve_ = routine<SymmetricEigen, Real>("syevd");
};

template <class Real>
class Svd final : public Routine<Real> {
 public:
  using Problem = lapack::Problem<Real>;

  double flops(double) const override { return 0; }

  void prepare(Problem& p) override {
    p.u.resize(p.square());
    p.vt.resize(p.square());
    p.integer_work.resize(8 * static_cast<std::size_t>(p.n));
    Real best = 0;
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
    return std::max({this->scaled(multiply(p.u.data(), svx), multiply(p.original.data(), x), this->norm(p), x),
                     this->scaled(left, x, 1, x), this->scaled(right, x, 1, x)});
  }

 private:
  void decompose(Problem& p, Real* work, const int* size) const {
    decompose_("A", &p.n, &p.n, p.a.data(), &p.n, p.diagonal.data(), p.u.data(), &p.n, p.vt.data(), &p.n, work,
               size, p.integer_work.data(), &p.info, 1);
  }

  SingularValues<Real>* decompose_ = routine<SingularValues, Real>("gesdd");
};

// The drivers solve one system with one right-hand side: A x against b.
template <class Real>
class Driver : public Routine<Real> {
 public:
  using Problem = lapack::Problem<Real>;

  bool solves() const final { return true; }
  double residual(const Problem& p, const Vector&) const final {
    const Vector x(p.diagonal.begin(), p.diagonal.end());
    const Vector b(p.right_side.begin(), p.right_side.end());
    if (!(largest(x) > 0)) return std::numeric_limits<double>::infinity();
    return this->scaled(multiply(p.original.data(), x), b, this->norm(p), x);
  }

 protected:
  static constexpr int one = 1;
};

template <class Real>
class Gesv final : public Driver<Real> {
 public:
  using Problem = lapack::Problem<Real>;

  double flops(double n) const override { return 2.0 / 3 * n * n * n + 1.5 * n * n + 5.0 / 6 * n; }
  void call(Problem& p) const override {
    solve_(&p.n, &this->one, p.a.data(), &p.n, p.pivots.data(), p.diagonal.data(), &p.n, &p.info);
  }

 private:
  Solve<Real>* solve_ = routine<Solve, Real>("gesv");
};

template <class Real>
class Posv final : public Driver<Real> {
 public:
  using Problem = lapack::Problem<Real>;

  double flops(double n) const override { return n * n * n / 3 + 2.5 * n * n + n / 6; }
  bool symmetric() const override { return true; }
  void call(Problem& p) const override {
    solve_("L", &p.n, &this->one, p.a.data(), &p.n, p.diagonal.data(), &p.n, &p.info, 1);
  }

 private:
  SolveDefinite<Real>* solve_ = routine<SolveDefinite, Real>("posv");
};

template <class Real>
class Gels final : public Driver<Real> {
 public:
  using Problem = lapack::Problem<Real>;

  double flops(double n) const override { return 4.0 / 3 * n * n * n + 5 * n * n + 14.0 / 3 * n; }
  void prepare(Problem& p) override {
    Real best = 0;
    const int ask = -1;
    solve(p, &best, &ask);
    p.work.resize(static_cast<std::size_t>(best));
  }
  void call(Problem& p) const override {
    const int size = static_cast<int>(p.work.size());
    solve(p, p.work.data(), &size);
  }

 private:
  void solve(Problem& p, Real* work, const int* size) const {
    solve_("N", &p.n, &p.n, &this->one, p.a.data(), &p.n, p.diagonal.data(), &p.n, work, size, &p.info, 1);
  }

  LeastSquares<Real>* solve_ = routine<LeastSquares, Real>("gels");
};

template <class Real>
std::unique_ptr<Routine<Real>> make_routine(const std::string& name) {
  if (name == "lu") return std::make_unique<Lu<Real>>();
  if (name == "cholesky") return std::make_unique<Cholesky<Real>>();
  if (name == "qr") return std::make_unique<Qr<Real>>();
  if (name == "eigenvalues") return std::make_unique<Eigen<Real>>();
  if (name == "singular_values") return std::make_unique<Svd<Real>>();
  if (name == "gesv") return std::make_unique<Gesv<Real>>();
  if (name == "posv") return std::make_unique<Posv<Real>>();
  return std::make_unique<Gels<Real>>();
}

// The library's own threads, for the lifetime of a case.
class Threads {
 public:
  explicit Threads(std::int64_t asked) {
    const auto usable = static_cast<std::int64_t>(allowed_processors().size());
    number_ = static_cast<int>(asked == 0 ? usable : asked);
    if (number_ > usable) {
      throw Unavailable(sentence(
          {"threads=", asked, ": this rank may use ", usable, " processors (placement=none binds it to none)"}));
    }
    blas::set_threads(number_);
  }
  ~Threads() { blas::set_threads(1); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int number() const { return number_; }

 private:
  int number_;
};

template <class Real>
class Lapack final : public Benchmark {
 public:
  Lapack(const Parameters& parameters, const Communicator& communicator)
      : threads_(parameters.integer("threads")),
        routine_(make_routine<Real>(parameters.choice("routine"))),
        problem_(static_cast<int>(parameters.integer("n"))),
        ranks_(communicator.size()),
        rank_(communicator.rank()) {
    routine_->prepare(problem_);
  }

  Work work() const override { return {.flops = routine_->flops(problem_.n) * ranks_}; }

  void fill(std::uint64_t seed) override {
    fill_random(std::span(problem_.original), seed * ranks_ + rank_);
    if (routine_->symmetric()) make_symmetric_and_definite();
    fill_random(std::span(problem_.right_side), ~(seed * ranks_ + rank_));
  }

  void run(Repetition& repetition) override {
    problem_.a = problem_.original;
    if (routine_->solves()) problem_.diagonal = problem_.right_side;
    repetition.time([&] { routine_->call(problem_); });
    repetition.observe("threads_used", threads_.number());
  }

  Check verify(std::uint64_t seed) override {
    const auto values = static_cast<std::int64_t>(problem_.square());
    if (problem_.info != 0) return {values, sentence({"LAPACK reports info = ", problem_.info})};
    const double residual = routine_->residual(problem_, probe(problem_.n, seed));
    if (!(residual < threshold)) return {values, sentence({"scaled residual ", residual, ", must be below 30"})};
    return {values, ""};
  }

  std::span<std::byte> received() override {
    if (routine_->solves()) return std::as_writable_bytes(std::span(problem_.diagonal));
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
      a[j + j * n] += static_cast<Real>(n);
    }
  }

  Threads threads_;
  std::unique_ptr<Routine<Real>> routine_;
  Problem<Real> problem_;
  int ranks_;
  int rank_;
};

const Registration registration{{
    .name = "node.lapack",
    .title = "LAPACK",
    .summary = "factorizations, solutions, symmetric eigenvalues and singular values by LAPACK",
    .needs = {Requirement::blas, Requirement::lapack},
    .rungs = {{Pattern::arithmetic, "flops_per_s", "routine=*"}},
    .parameters = {problem("routine", "lu,cholesky,qr,eigenvalues,singular_values,gesv,posv,gels",
                           "xGETRF, xPOTRF, xGEQRF, xSYEVD, xGESDD, xGESV, xPOSV or xGELS")
                       .worded("LU,Cholesky,QR,eigenvalues,singular values,xGESV,xPOSV,xGELS"),
                   problem("precision", "double,single", "double or single precision").worded(",single precision"),
                   parallel("threads", "", 1, 0, 4096,
                            "threads of the library; 0: one for each processor that the rank may use")
                       .worded("0=one thread per processor,{} threads"),
                   size("n", "", 200, 1, 20'000, "rows and columns of the matrix on each rank")
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
    .make = [](const Parameters& parameters, const Communicator& communicator) -> std::unique_ptr<Benchmark> {
      if (parameters.choice("precision") == "single")
        return std::make_unique<Lapack<float>>(parameters, communicator);
      return std::make_unique<Lapack<double>>(parameters, communicator);
    },
}};

}  // namespace
}  // namespace scope::lapack
