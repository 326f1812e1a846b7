// operation.broadcast: the broadcast of an N x N matrix as in a program, including its buffers.
//
// The whole core is repeated: every rank allocates its matrix, the root fills its own, the operation follows, and
// the memory is released. Only the operation is timed, from the agreed start to the last exit; but receivers first
// touch their pages inside it, as in a program. The warm variant keeps the matrices and shows the difference.
// After thesis 6.6.2 and 7.5.1.
#include "benchmarks/operation/matrix_parameters.hpp"
#include "benchmarks/operation/operation_call.hpp"
#include "memory/available.hpp"

namespace scope::broadcast {
namespace {

class MatrixBroadcast final : public Benchmark {
 public:
  MatrixBroadcast(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        cold_(parameters.choice("buffers") == "cold"),
        elements_(parameters.integer("n") * parameters.integer("n")),
        call_(parameters, communicator) {
    require_memory(call_.sets() * bytes(), communicator);
    for (int set = 0; set < call_.sets(); ++set) matrices_.emplace_back(bytes());
  }

  // Effective bandwidth counts the payload of all p ranks (thesis, eq. 6.1).
  Work work() const override {
    return {.bytes = static_cast<double>(bytes()) * communicator_.size(),
            .messages = static_cast<double>(communicator_.size() - 1)};
  }

  void fill(std::uint64_t seed) override {
    seed_ = seed;
    if (cold_) return;
    for (Buffer& matrix : matrices_) communicator_.root() ? write_pattern(matrix.bytes(), seed_) : matrix.clear();
  }

  void run(Repetition& repetition) override {
    for (Buffer& matrix : matrices_) {
      if (!cold_) break;
      matrix = Buffer(bytes());  // the old pages are unmapped at once
      if (communicator_.root()) write_pattern(matrix.bytes(), seed_);
    }
    const int elements = static_cast<int>(elements_);
    const MPI_Comm comm = communicator_.handle();
    MPI_Request request = MPI_REQUEST_NULL;
    call_.time(
        repetition, [&](int set) { MPI_Bcast(matrices_[set].data(), elements, MPI_DOUBLE, 0, comm); },
        [&](int set) { MPI_Ibcast(matrices_[set].data(), elements, MPI_DOUBLE, 0, comm, &request); },
        [&](int) { MPI_Wait(&request, MPI_STATUS_IGNORE); });
  }

  Check verify(std::uint64_t seed) override {
    Check check;
    for (Buffer& matrix : matrices_) {
      check.checks += elements_;
      if (check.problem.empty()) check.problem = pattern_problem(matrix.bytes(), seed);
    }
    return check;
  }

  std::span<std::byte> received() override { return matrices_[0].bytes(); }
  bool loops() const override { return false; }

 private:
  std::int64_t bytes() const { return elements_ * static_cast<std::int64_t>(sizeof(double)); }

  const Communicator& communicator_;
  bool cold_;
  std::int64_t elements_;
  OperationCall call_;
  std::vector<Buffer> matrices_;
  std::uint64_t seed_ = 0;
};

const Registration registration{{
    .name = "operation.broadcast",
    .title = "matrix broadcast",
    .summary = "broadcast of an N x N matrix into newly allocated or reused memory, as applications do it",
    .ranks = Ranks::at_least(2),
    .routines = {{"MPI_Bcast", "buffers=cold"}, {"MPI_Ibcast", "buffers=cold call=nonblocking"}},
    .rungs = {{Pattern::transfer, "time_s"}},
    .costs = {{.phase = "exchange", .kind = Step::Kind::messages, .count = "ceil(log2(p))", .bytes = "8*n^2"}},
    .parameters = {matrix_order(), buffers(), operation_call()},
    .definition = Definition::global,
    .metrics = operation_metrics({moved_bytes_per_second(), effective_bandwidth()}),
    .sweeps = {{"baseline", "ranks=2,4 buffers=cold n=30,120,360,720,1080"},
               {"baseline", "ranks=2,4 buffers=warm n=30,360,1080"},
               {"baseline", "ranks=2 transport=tcp buffers=cold n=30,360,720"},
               {"standard", "ranks=2,4 buffers=cold,warm call=nonblocking,overlapped n=120,360,1080"}},
    .make = make<MatrixBroadcast>,
}};

}  // namespace
}  // namespace scope::broadcast
