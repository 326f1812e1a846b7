// operation.broadcast: a program's broadcast of an N x N matrix, buffers included.
//
// The whole core is repeated: every process allocates its matrix, the root fills its own, the operation
// follows, the memory goes back. Only the operation is timed, from the agreed start to the last exit; but
// receivers first touch their pages in it, as a program's do. The warm variant keeps the matrices and shows
// the gap. After thesis 6.6.2 and 7.5.1.
#include "benchmark.hpp"
#include "memory/buffer.hpp"

namespace scope {
namespace {

class MatrixBroadcast final : public Benchmark {
 public:
  MatrixBroadcast(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        cold_(parameters.choice("memory") == "cold"),
        elements_(parameters.integer("size") * parameters.integer("size")),
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
      matrix_ =
          Buffer(elements_ * sizeof(double));  // the old pages go back at once: the new ones are untouched
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
  bool loops() const override { return !cold_; }

 private:
  const Communicator& communicator_;
  bool cold_;
  std::int64_t elements_;
  Buffer matrix_;
  std::uint64_t seed_ = 0;
};

const Registration registration{{
    .name = "operation.broadcast",
    .summary = "a program's broadcast of an N x N matrix, allocation and first touch included",
    .minimum_ranks = 2,
    .parameters = {integer("size", "", 120, 1, 16384, "N of the N x N matrix of doubles"),
                   choice("memory", {"cold", "warm"}, "fresh buffers for every operation, or the same ones")},
    .definition = Definition::global,
    .metrics = {seconds("time_s"), bytes_per_second()},
    .sweeps = {{"baseline", "ranks=powers memory=cold size=30,120,360,720,1080"},
               {"baseline", "ranks=powers memory=warm size=30,360,1080"},
               {"baseline", "ranks=2 transport=tcp memory=cold size=30,360,720"}},
    .make = [](const Parameters& parameters, const Communicator& communicator) -> std::unique_ptr<Benchmark> {
      return std::make_unique<MatrixBroadcast>(parameters, communicator);
    },
}};

}  // namespace
}  // namespace scope
