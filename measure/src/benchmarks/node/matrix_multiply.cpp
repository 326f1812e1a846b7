// node.matrix_multiply: BLAS rate of a core for C = A B with square matrices.
//
// Timed: one call of SGEMM or DGEMM on every rank at the same time, each with its own matrices and clock; the
// slowest rank counts. The BLAS has one thread per rank unless the environment sets another number.
#include "benchmark.hpp"
#include "blas/blas.hpp"
#include "blas/dense.hpp"

namespace scope::matrix_multiply {
namespace {

template <class Real>
class Multiply final : public Benchmark {
 public:
  Multiply(const Parameters& parameters, const Communicator& communicator)
      : gemm_(blas::routine<Real>("gemm")),
        n_(static_cast<int>(parameters.integer("n"))),
        ranks_(communicator.size()),
        rank_(communicator.rank()),
        a_(bytes()),
        b_(bytes()),
        c_(bytes()) {}

  Work work() const override { return {.flops = 2.0 * n_ * n_ * n_ * ranks_}; }

  void fill(std::uint64_t seed) override {
    fill_random(a_.as<Real>(), seed * ranks_ + rank_);
    fill_random(b_.as<Real>(), ~(seed * ranks_ + rank_));
    c_.clear();
  }

  void run(Repetition& repetition) override {
    const Real* a = a_.as<Real>().data();
    const Real* b = b_.as<Real>().data();
    Real* c = c_.as<Real>().data();
    repetition.time([&] { gemm_("N", "N", n_, n_, n_, Real{1}, a, n_, b, n_, Real{0}, c, n_); });
  }

  Check verify(std::uint64_t seed) override {
    return {std::int64_t{n_} * n_,
            product_problem(a_.as<Real>().data(), b_.as<Real>().data(), c_.as<Real>().data(), n_, seed, "row")};
  }

  std::span<std::byte> received() override { return c_.bytes(); }

 private:
  std::size_t bytes() const { return sizeof(Real) * n_ * n_; }

  blas::Routine gemm_;
  int n_;
  int ranks_;
  int rank_;
  Buffer a_;
  Buffer b_;
  Buffer c_;
};

// A product is on two rungs: as the fraction of the processor's peak that the BLAS delivers, and as the limit of
// other computations.
const Registration registration{{
    .name = "node.matrix_multiply",
    .title = "matrix product",
    .summary = "BLAS matrix multiplication: SGEMM and DGEMM",
    .needs = {Requirement::blas},
    .rungs = {{Pattern::arithmetic, "flops_per_s", "*", "limit"}, arithmetic()},
    .parameters = {problem("precision", "double,single", "DGEMM or SGEMM").worded("DGEMM,SGEMM"),
                   size("n", "", 500, 1, 40'000, "order of each matrix on each rank")
                       .labeled("matrix order")
                       .worded("N = {}")},
    .definition = Definition::max_rank,
    .metrics = {flops_per_second(), seconds("time_s")},
    .sweeps = {{"baseline", "nodes=types ranks=1,2,4 n=100,500"},
               {"standard", "nodes=types ranks=1,all precision=double,single n=50,100,200,500,1000"},
               {"advanced", "nodes=types ranks=1,all precision=double,single n=2000"}},
    .make = make_in_precision<Multiply>,
}};

}  // namespace
}  // namespace scope::matrix_multiply
