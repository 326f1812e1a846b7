// operation.shift: the circular shift of Cannon's algorithm: every process passes its N x N matrix to its
// neighbour.
//
// Timed, from the agreed start to the last exit: allocating an extra buffer, the two point-to-point calls,
// swapping the buffers and freeing the old one; this is the operation as a program does it. The whole core,
// including the matrix, is repeated. The warm variant keeps both buffers and shows the difference. After
// thesis 6.6.4 and 7.5.3.
#include <utility>

#include "benchmark.hpp"
#include "benchmarks/algorithm/grid_rows.hpp"
#include "benchmarks/operation/matrix_parameters.hpp"
#include "memory/available.hpp"
#include "memory/buffer.hpp"
#include "mpi/process_grid.hpp"
#include "text/words.hpp"

namespace scope::shift {
namespace {

constexpr int tag = 21;

class MatrixShift final : public Benchmark {
 public:
  MatrixShift(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        cold_(parameters.choice("buffers") == "cold"),
        elements_(static_cast<int>(parameters.integer("n") * parameters.integer("n"))),
        matrix_(0),
        extra_(0) {
    const ProcessGrid grid(communicator, parameters.integer("grid_rows"));
    const bool along_rows = parameters.choice("direction") == "rows";
    if ((along_rows ? grid.columns() : grid.rows()) < 2) {
      throw Unavailable(sentence({"direction=", parameters.choice("direction"), ": a grid of ", grid.rows(),
                                  " x ", grid.columns(), " processes has no neighbours there"}));
    }
    destination_ =
        along_rows ? grid.rank(grid.row(), grid.column() - 1) : grid.rank(grid.row() - 1, grid.column());
    source_ =
        along_rows ? grid.rank(grid.row(), grid.column() + 1) : grid.rank(grid.row() + 1, grid.column());
    require_memory(2 * static_cast<std::int64_t>(bytes()), communicator);
    matrix_ = Buffer(bytes());
    extra_ = Buffer(bytes());
  }

  Work work() const override {
    const double ranks = communicator_.size();
    return {.bytes = static_cast<double>(bytes()) * ranks, .messages = ranks};
  }

  void fill(std::uint64_t seed) override {
    seed_ = seed;
    if (cold_) return;
    write_pattern(matrix_.bytes(), seed_of(communicator_.rank()));
    extra_.clear();
  }

  void run(Repetition& repetition) override {
    if (cold_) {
      matrix_ = Buffer(bytes());
      write_pattern(matrix_.bytes(), seed_of(communicator_.rank()));
      repetition.time([&] {
        extra_ = Buffer(bytes());
        exchange();
        std::swap(matrix_, extra_);
        extra_ = Buffer(0);
      });
    } else {
      // Always from the same matrix into the same extra buffer, so that all shifts are identical.
      repetition.time([&] { exchange(); });
    }
  }

  Check verify(std::uint64_t seed) override {
    seed_ = seed;
    return {elements_, pattern_problem(received(), seed_of(source_))};
  }

  std::span<std::byte> received() override { return cold_ ? matrix_.bytes() : extra_.bytes(); }
  bool loops() const override { return false; }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(elements_) * sizeof(double); }
  std::uint64_t seed_of(int rank) const { return seed_ * 0x100000001b3u + static_cast<std::uint64_t>(rank); }

  void exchange() {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(extra_.data(), elements_, MPI_DOUBLE, source_, tag, communicator_.handle(), &request);
    MPI_Send(matrix_.data(), elements_, MPI_DOUBLE, destination_, tag, communicator_.handle());
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

  const Communicator& communicator_;
  bool cold_;
  int elements_;
  int destination_ = 0;
  int source_ = 0;
  Buffer matrix_;
  Buffer extra_;
  std::uint64_t seed_ = 0;
};

const Registration registration{{
    .name = "operation.shift",
    .title = "matrix shift",
    .summary = "circular shift of matrices as in Cannon's algorithm, with its buffers",
    .ranks = Ranks::at_least(2),
    .costs = {{"exchange", Step::Kind::messages, "", "1", "8*n^2"}},
    .parameters = {matrix_order(),
                   parallel("direction", "rows,columns", "left along the rows of the grid, or up its columns")
                       .worded(",along columns"),
                   grid_rows(), buffers()},
    .definition = Definition::global,
    .metrics = {seconds("time_s"), bytes_per_second()},
    .sweeps = {{"baseline", "ranks=2,4 buffers=cold n=30,360,1080"},
               {"baseline", "ranks=2,4 buffers=warm n=360"},
               {"standard", "ranks=powers buffers=cold,warm n=30,60,120,240,360,480,600,720,840,1080"},
               {"standard", "ranks=4 direction=columns buffers=cold,warm n=120,360,1080"},
               {"standard", "ranks=2 transport=tcp buffers=cold,warm n=30,120,360,720,1080"}},
    .make = make<MatrixShift>,
}};

}  // namespace
}  // namespace scope::shift
