// operation.row_broadcast: a square matrix that the root broadcasts row by row.
//
// Timed: all rows, from a common start to the last rank's exit.
#include "benchmark.hpp"
#include "memory/buffer.hpp"

namespace scope {
namespace {

class RowBroadcast final : public Benchmark {
 public:
  RowBroadcast(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator), n_(parameters.integer("n")), matrix_(n_ * n_ * sizeof(double)) {}

  Work work() const override {
    const double ranks = communicator_.size();
    return {.bytes = static_cast<double>(matrix_.size()) * ranks,
            .messages = static_cast<double>(n_) * (ranks - 1)};
  }

  void fill(std::uint64_t seed) override {
    communicator_.root() ? write_pattern(matrix_.bytes(), seed) : matrix_.clear();
  }

  void run(Repetition& repetition) override {
    const auto rows = matrix_.as<double>();
    repetition.time([&] {
      for (std::int64_t row = 0; row < n_; ++row)
        MPI_Bcast(&rows[row * n_], static_cast<int>(n_), MPI_DOUBLE, 0, communicator_.handle());
    });
  }

  Check verify(std::uint64_t seed) override {
    return {static_cast<std::int64_t>(matrix_.size()), pattern_problem(matrix_.bytes(), seed)};
  }

  std::span<std::byte> received() override { return matrix_.bytes(); }

 private:
  const Communicator& communicator_;
  std::int64_t n_;
  Buffer matrix_;
};

const Registration registration{{
    .name = "operation.row_broadcast",
    .title = "broadcast row by row",
    .summary = "a square matrix that the root broadcasts row by row",
    .ranks = Ranks::at_least(2),
    .rungs = {{Pattern::transfer, "time_s"}},
    .costs = {{"exchange", Step::Kind::messages, "", "n*ceil(log2(p))", "8*n"}},
    .parameters = {size("n", "", 100, 1, 20000, "order of the matrix").labeled("matrix order")},
    .definition = Definition::global,
    .metrics = {seconds("time_s")},
    .sweeps = {{"standard", "ranks=powers n=32,100"}},
    .make = make<RowBroadcast>,
}};

}  // namespace
}  // namespace scope
