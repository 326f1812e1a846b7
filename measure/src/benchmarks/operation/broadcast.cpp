// operation.broadcast: the broadcast of an N x N matrix as in a program, including its buffers.
//
// The whole core is repeated: every process allocates its matrix, the root fills its own, the operation
// follows, the memory is released. Only the operation is timed, from the agreed start to the last exit; but
// receivers first touch their pages inside it, as in a program. The warm variant keeps the matrices and shows
// the difference. After thesis 6.6.2 and 7.5.1.
#include "benchmark.hpp"
#include "benchmarks/operation/matrix_parameters.hpp"
#include "memory/buffer.hpp"

namespace scope::broadcast {
namespace {

class MatrixBroadcast final : public Benchmark {
 public:
  MatrixBroadcast(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        cold_(parameters.choice("buffers") == "cold"),
        elements_(parameters.integer("n") * parameters.integer("n")),
        matrix_(elements_ * sizeof(double)) {}

  // Effective bandwidth counts the payload of all p processes (thesis, eq. 6.1).
  Work work() const override {
    return {.bytes = static_cast<double>(matrix_.size()) * communicator_.size(),
            .messages = static_cast<double>(communicator_.size() - 1)};
  }

  void fill(std::uint64_t seed) override {
    seed_ = seed;
    if (cold_) return;
    communicator_.root() ? write_pattern(matrix_.bytes(), seed_) : matrix_.clear();
  }

  void run(Repetition& repetition) override {
    if (cold_) {
      matrix_ = Buffer(elements_ * sizeof(double));  // the old pages are unmapped at once
      if (communicator_.root()) write_pattern(matrix_.bytes(), seed_);
    }
    repetition.time([&] {
      MPI_Bcast(matrix_.data(), static_cast<int>(elements_), MPI_DOUBLE, 0, communicator_.handle());
    });
  }

  Check verify(std::uint64_t seed) override {
    return {static_cast<std::int64_t>(elements_), pattern_problem(matrix_.bytes(), seed)};
  }

  std::span<std::byte> received() override { return matrix_.bytes(); }
  bool loops() const override { return false; }

 private:
  const Communicator& communicator_;
  bool cold_;
  std::int64_t elements_;
  Buffer matrix_;
  std::uint64_t seed_ = 0;
};

const Registration registration{{
    .name = "operation.broadcast",
    .title = "matrix broadcast",
    .summary = "broadcast of an N x N matrix as in a program, with allocation and first touch",
    .ranks = Ranks::at_least(2),
    .routines = {{"MPI_Bcast", "buffers=cold"}},
    .rungs = {{Pattern::transfer, "time_s"}},
    .costs = {{"exchange", Step::Kind::messages, "", "ceil(log2(p))", "8*n^2"}},
    .parameters = {matrix_order(), buffers()},
    .definition = Definition::global,
    .metrics = {seconds("time_s"), bytes_per_second()},
    .sweeps = {{"baseline", "ranks=2,4 buffers=cold n=30,120,360,720,1080"},
               {"baseline", "ranks=2,4 buffers=warm n=30,360,1080"},
               {"baseline", "ranks=2 transport=tcp buffers=cold n=30,360,720"}},
    .make = make<MatrixBroadcast>,
}};

}  // namespace
}  // namespace scope::broadcast
