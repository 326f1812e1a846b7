// operation.shift: the circular shift of Cannon's algorithm, in which every rank passes its N x N matrix to its
// neighbor.
//
// Timed, from the agreed start to the last exit: allocating an extra buffer, the two point-to-point calls,
// swapping the buffers and freeing the old one, as in a program. The whole core,
// including the matrix, is repeated. The warm variant keeps both buffers and shows the difference. After
// thesis 6.6.4 and 7.5.3.

#include "benchmarks/algorithm/grid_rows.hpp"
#include "benchmarks/operation/matrix_parameters.hpp"
#include "benchmarks/operation/operation_call.hpp"
#include "memory/available.hpp"
#include "mpi/process_grid.hpp"

namespace scope::shift {
namespace {

constexpr int tag = 21;

class MatrixShift final : public Benchmark {
 public:
  MatrixShift(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        cold_(parameters.choice("buffers") == "cold"),
        elements_(static_cast<int>(parameters.integer("n") * parameters.integer("n"))),
        call_(parameters, communicator) {
    const ProcessGrid grid(communicator, parameters.integer("grid_rows"));
    const bool along_rows = parameters.choice("direction") == "rows";
    if ((along_rows ? grid.columns() : grid.rows()) < 2) {
      throw Unavailable(sentence({"direction=", parameters.choice("direction"), ": a grid of ", grid.rows(), " x ",
                                  grid.columns(), " ranks has no neighbors there"}));
    }
    destination_ =
        along_rows ? grid.rank(grid.row(), grid.column() - 1) : grid.rank(grid.row() - 1, grid.column());
    source_ = along_rows ? grid.rank(grid.row(), grid.column() + 1) : grid.rank(grid.row() + 1, grid.column());
    require_memory(2 * call_.sets() * static_cast<std::int64_t>(bytes()), communicator);
    for (int set = 0; set < call_.sets(); ++set) {
      matrices_.emplace_back(bytes());
      extras_.emplace_back(bytes());
    }
  }

  Work work() const override {
    const double ranks = communicator_.size();
    return {.bytes = static_cast<double>(bytes()) * ranks, .messages = ranks};
  }

  void fill(std::uint64_t seed) override {
    seed_ = seed;
    if (cold_) return;
    for (Buffer& matrix : matrices_) write_pattern(matrix.bytes(), seed_of(communicator_.rank()));
    for (Buffer& extra : extras_) extra.clear();
  }

  void run(Repetition& repetition) override {
    for (Buffer& matrix : matrices_) {
      if (!cold_) break;
      matrix = Buffer(bytes());
      write_pattern(matrix.bytes(), seed_of(communicator_.rank()));
    }
    call_.time(
        repetition, [this](int set) { exchange(set); }, [this](int set) { start(set); },
        [this](int set) { finish(set); });
  }

  Check verify(std::uint64_t seed) override {
    seed_ = seed;
    Check check;
    for (Buffer& result : cold_ ? matrices_ : extras_) {
      check.checks += elements_;
      if (check.problem.empty()) check.problem = pattern_problem(result.bytes(), seed_of(source_));
    }
    return check;
  }

  std::span<std::byte> received() override { return (cold_ ? matrices_ : extras_)[0].bytes(); }
  bool loops() const override { return false; }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(elements_) * sizeof(double); }
  std::uint64_t seed_of(int rank) const { return seed_ * 0x100000001b3u + static_cast<std::uint64_t>(rank); }

  // Cold: into a new extra buffer, which then replaces the matrix. Warm: always from the same matrix into the same
  // buffer, so that all shifts are identical.
  void post(int set) {
    if (cold_) extras_[set] = Buffer(bytes());
    MPI_Irecv(extras_[set].data(), elements_, MPI_DOUBLE, source_, tag, communicator_.handle(), &requests_[0]);
  }
  void exchange(int set) {
    post(set);
    MPI_Send(matrices_[set].data(), elements_, MPI_DOUBLE, destination_, tag, communicator_.handle());
    finish(set);
  }
  void start(int set) {
    post(set);
    MPI_Isend(matrices_[set].data(), elements_, MPI_DOUBLE, destination_, tag, communicator_.handle(),
              &requests_[1]);
  }
  void finish(int set) {
    MPI_Waitall(2, requests_.data(), MPI_STATUSES_IGNORE);
    if (!cold_) return;
    std::swap(matrices_[set], extras_[set]);
    extras_[set] = Buffer(0);
  }

  const Communicator& communicator_;
  bool cold_;
  int elements_;
  OperationCall call_;
  int destination_ = 0;
  int source_ = 0;
  std::vector<Buffer> matrices_;
  std::vector<Buffer> extras_;
  std::array<MPI_Request, 2> requests_ = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  std::uint64_t seed_ = 0;
};

const Registration registration{{
    .name = "operation.shift",
    .title = "matrix shift",
    .summary = "circular shift of matrices as in Cannon's algorithm, including the handling of buffers",
    .ranks = Ranks::at_least(2),
    .costs = {{.phase = "exchange", .kind = Step::Kind::messages, .count = "1", .bytes = "8*n^2"}},
    .parameters = {matrix_order(),
                   parallel("direction", "rows,columns", "to the left along grid rows, or up along grid columns")
                       .worded(",along columns"),
                   grid_rows(), buffers(), operation_call()},
    .definition = Definition::global,
    .metrics = operation_metrics({bytes_per_second()}),
    .sweeps = {{"baseline", "ranks=2,4 buffers=cold n=30,360,1080"},
               {"baseline", "ranks=2,4 buffers=warm n=360"},
               {"standard", "ranks=powers buffers=cold,warm n=30,60,120,240,360,480,600,720,840,1080"},
               {"standard", "ranks=4 direction=columns buffers=cold,warm n=120,360,1080"},
               {"standard", "ranks=2 transport=tcp buffers=cold,warm n=30,120,360,720,1080"},
               {"standard", "ranks=2,4 buffers=cold,warm call=nonblocking,overlapped n=120,360,1080"}},
    .make = make<MatrixShift>,
}};

}  // namespace
}  // namespace scope::shift
