// algorithm.relaxation: a fixed number of sweeps over the Laplace equation on N x N points inside a fixed
// boundary, in blocks on a grid of processes.
//
// Timed: the whole program core on every rank, including allocation; the slowest counts. Its phases:
// initialize (the root makes the grid), distribute, compute (sweeps), exchange (edges with the neighbors;
// the largest change to all, by reduce and broadcast, `tuned` by allreduce), collect. After thesis 6.7.5 and appendix F.4.
#include <bit>
#include <cstdio>
#include <limits>

#include "benchmarks/algorithm/grid_rows.hpp"
#include "benchmarks/algorithm/laplace.hpp"
#include "benchmarks/algorithm/partition.hpp"
#include "benchmarks/algorithm/phase_metrics.hpp"
#include "benchmarks/algorithm/relaxation_replay.hpp"
#include "benchmarks/algorithm/sweep_order.hpp"
#include "benchmarks/algorithm/sweeps.hpp"
#include "memory/available.hpp"
#include "mpi/datatype.hpp"
#include "mpi/process_grid.hpp"
#include "sampling/phases.hpp"

namespace scope::relaxation {
namespace {

constexpr int upward_tag = 12;
constexpr int downward_tag = 13;
constexpr int leftward_tag = 14;
constexpr int rightward_tag = 15;
// Maximum number of points that a check sweeps over serially, about a tenth of a second.
constexpr std::int64_t replayed_points = 20'000'000;
// Memory per meeting, for Phases and for the messages between its processes.
constexpr std::int64_t bytes_per_meeting = 160;

enum class Method { chaotic, jacobi, red_black };

Method method_of(const Parameters& parameters) {
  const std::string& name = parameters.choice("method");
  if (name == "jacobi") return Method::jacobi;
  return name == "red_black" ? Method::red_black : Method::chaotic;
}

// The points of one process, surrounded by a halo of neighbors' or boundary values. The first point of each
// row begins a cache line. With one additional row, all points can move by one row and back.
class Block {
 public:
  Block(int rows, int columns)
      : rows_(rows), columns_(columns), stride_(stride(columns)), memory_(bytes(rows, columns)) {}

  static std::size_t bytes(int rows, int columns) {
    return (static_cast<std::size_t>(rows + 3) * stride(columns) + line) * sizeof(double);
  }

  double* at(int row, int column) {
    return memory_.as<double>().data() + line + (row + 1 + moved_) * stride_ + column;
  }

  // One Jacobi sweep over all points without a second array: each new row overwrites the old row next to it, which
  // is not needed any more. The rows, with their halo, move down and up in alternate sweeps.
  double sweep_in_place(SweepJacobi sweep) {
    const bool down = moved_ == 0;
    const Stride onward = down ? -stride_ : stride_;  // from a row to the next one to be swept
    move_row(down ? rows_ : -1, -onward);
    const double change =
        sweep(at(down ? rows_ - 1 : 0, 0), at(down ? rows_ - 1 : 0, 0) - onward, onward, {0, rows_, 0, columns_});
    for (int swept = 0; swept < rows_; ++swept) {
      const int row = down ? rows_ - 1 - swept : swept;
      for (const int column : {-1, columns_}) at(row, column)[-onward] = *at(row, column);
    }
    move_row(down ? -1 : rows_, -onward);
    moved_ = 1 - moved_;
    return change;
  }

  std::span<const std::byte> bytes() { return memory_.bytes(); }
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  Stride stride() const { return stride_; }

 private:
  static Stride stride(int columns) { return (columns + 2 + line - 1) / line * line; }

  void move_row(int row, Stride by) { std::copy(at(row, 0), at(row, columns_), at(row, 0) + by); }

  int rows_;
  int columns_;
  Stride stride_;
  int moved_ = 0;  // number of rows by which all have moved down
  Buffer memory_;
};

// Replaces Phases if nothing is timed.
struct Untimed {
  void enter(Phase) {}
  void meet(Phase, const Partners&) {}
  void offer() {}
};

class Relaxation final : public Benchmark {
 public:
  Relaxation(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        size_(static_cast<int>(parameters.integer("n"))),
        iterations_(static_cast<int>(parameters.integer("iterations"))),
        method_(method_of(parameters)),
        tuned_(parameters.choice("variant") == "tuned"),
        overlapped_(parameters.choice("exchange") == "overlapped"),
        grid_(communicator, parameters.integer("grid_rows")),
        rows_(size_, grid_.rows()),
        columns_(size_, grid_.columns()) {
    refuse_what_does_not_fit();
    problem_.emplace(size_, method_ == Method::chaotic);
    const Sides there = sides();
    if (there.above) above_ = grid_.rank(grid_.row() - 1, grid_.column());
    if (there.below) below_ = grid_.rank(grid_.row() + 1, grid_.column());
    if (there.left) left_ = grid_.rank(grid_.row(), grid_.column() - 1);
    if (there.right) right_ = grid_.rank(grid_.row(), grid_.column() + 1);
    neighbors_ = Partners::these({above_, below_, left_, right_});
    collected_ = communicator.root() ? Partners::everyone() : Partners::none();
  }

  ~Relaxation() override { release(); }

  Work work() const override {
    const double p = communicator_.size();
    const double n = size_;
    const double edges = 2.0 * (grid_.rows() - 1) * grid_.columns() + 2.0 * (grid_.columns() - 1) * grid_.rows();
    const double edge_points = 2 * n * (grid_.rows() - 1 + grid_.columns() - 1);
    const double exchanges = static_cast<double>(iterations_) * halves() - 1;
    const int levels = std::bit_width(static_cast<unsigned>(communicator_.size() - 1));
    const double maxima = (tuned_ ? p * levels : 2 * (p - 1)) * iterations_;
    return {.bytes = sizeof(double) * (2 * n * n * (p - 1) / p + exchanges * edge_points + maxima),
            .flops = 4 * n * n * iterations_,
            .messages = 2 * (p - 1) + exchanges * edges + maxima,
            .steps = static_cast<double>(iterations_)};
  }

  void run(Repetition& repetition) override {
    release();
    std::optional<Phases> phases;
    repetition.time([&] {
      phases.emplace(repetition, meetings());
      solve(iterations_, *phases);
      phases->leave();
    });
    phases->observe(repetition, communicator_);
  }

  // Every rank compares every point of its block, and the root every point of the result, with the exact
  // iterate, and also the largest change. For chaotic iterates only bounds are known, so their first sweeps are
  // repeated, by all processes and by the root alone.
  Check verify(std::uint64_t /*seed*/) override {
    std::string problem = block_problem();
    std::int64_t checks = static_cast<std::int64_t>(current_->rows()) * current_->columns();
    if (communicator_.root()) {
      checks += static_cast<std::int64_t>(size_) * size_;
      if (problem.empty()) problem = result_problem();
    }
    const std::string in_change = method_ == Method::chaotic ? replay_problem() : change_problem();
    return {checks, problem.empty() ? in_change : problem};
  }

  // The result on the root, the block elsewhere.
  std::span<std::byte> received() override { return communicator_.root() ? whole_.bytes() : packed_block(); }
  // The block with its halo.
  std::vector<std::span<const std::byte>> computed() override {
    return {current_->bytes(), std::as_bytes(std::span(&change_, 1))};
  }
  bool loops() const override { return false; }

 private:
  Sides sides() const { return Sides::of(grid_.row(), grid_.column(), grid_.rows(), grid_.columns()); }
  // Edges are swept last and need the old values of points that were swept before.
  bool two_arrays() const { return method_ == Method::jacobi && (overlapped_ || !tuned_); }
  int halves() const { return method_ == Method::red_black ? 2 : 1; }
  std::size_t meetings() const { return 2 + static_cast<std::size_t>(iterations_) * (1 + halves()); }

  void refuse_what_does_not_fit() {
    if (tuned_ && method_ == Method::red_black)
      throw Unavailable("variant=tuned: method must be chaotic or jacobi; red_black has only a plain sweep");
    if (size_ < grid_.rows() || size_ < grid_.columns()) {
      throw Unavailable(sentence({"n=", size_, ": every rank of the ", grid_.rows(), " x ", grid_.columns(),
                                  " grid needs at least one point"}));
    }
    const std::int64_t side = size_;
    const std::int64_t packed = (side + 2 * grid_.rows()) * (side + 2 * grid_.columns());
    if (packed > std::numeric_limits<int>::max())
      throw Unavailable(sentence({"n=", size_, ": one scatter would have more than 2^31 - 1 points"}));
    const int blocks = two_arrays() ? 2 : 1;
    std::int64_t bytes = blocks * static_cast<std::int64_t>(Block::bytes(static_cast<int>(rows_.largest()),
                                                                         static_cast<int>(columns_.largest())));
    bytes += (rows_.largest() + 2) * (columns_.largest() + 2) * static_cast<std::int64_t>(sizeof(double));
    if (communicator_.root())
      bytes += (packed + (side + 2) * (side + 2)) * static_cast<std::int64_t>(sizeof(double));
    bytes += static_cast<std::int64_t>(meetings()) * bytes_per_meeting;
    require_memory(bytes, communicator_);
  }

  void release() {
    current_.reset();
    next_.reset();
    for (Buffer* buffer : {&whole_, &packed_, &mine_}) *buffer = Buffer(0);
    column_.reset();
  }

  // The program core; `phases` records where the time goes.
  template <class Marks>
  void solve(int iterations, Marks& phases) {
    initialize();
    phases.meet(Phase::distribute, from_root_);
    distribute();
    neighbors_known_ = true;  // each block was distributed with its halo
    for (int iteration = 0; iteration < iterations; ++iteration) {
      double change = 0;
      for (int half = 0; half < halves(); ++half) {
        const bool meanwhile = overlapped_ && !neighbors_known_;
        change = std::max(change, meanwhile ? swept_meanwhile(half, phases) : swept(half, phases));
        neighbors_known_ = communicator_.size() == 1;
      }
      if (next_) std::swap(current_, next_);
      phases.meet(Phase::exchange, everyone_);
      tell_everyone(change);
    }
    phases.meet(Phase::collect, collected_);
    collect();
  }

  // The thesis reduces to the root, which broadcasts; `tuned` uses one call, which may need half of the steps.
  void tell_everyone(const double& change) {
    if (tuned_) {
      MPI_Allreduce(&change, &change_, 1, MPI_DOUBLE, MPI_MAX, communicator_.handle());
      return;
    }
    MPI_Reduce(&change, &change_, 1, MPI_DOUBLE, MPI_MAX, 0, communicator_.handle());
    MPI_Bcast(&change_, 1, MPI_DOUBLE, 0, communicator_.handle());
  }

  template <class Marks>
  double swept(int half, Marks& phases) {
    if (!neighbors_known_) {
      phases.meet(Phase::exchange, neighbors_);
      exchange();
    }
    phases.enter(Phase::compute);
    const double change = sweep(parts_.front(), half);
    return std::max(change, sweep_rest(half));
  }

  template <class Marks>
  double swept_meanwhile(int half, Marks& phases) {
    phases.enter(Phase::exchange);
    auto requests = start_exchange();
    phases.offer();
    phases.enter(Phase::compute);
    const double change = sweep(parts_.front(), half);
    phases.meet(Phase::exchange, neighbors_);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    phases.enter(Phase::compute);
    return std::max(change, sweep_rest(half));
  }

  double sweep_rest(int half) {
    double change = 0;
    for (std::size_t part = 1; part < parts_.size(); ++part) change = std::max(change, sweep(parts_[part], half));
    return change;
  }

  double sweep(const Rectangle& points, int half) {
    double* const here = current_->at(0, 0);
    const Stride stride = current_->stride();
    switch (method_) {
      case Method::jacobi:
        if (!next_) return current_->sweep_in_place(tuned_jacobi_);
        return (tuned_ ? tuned_jacobi_ : sweep_jacobi)(here, next_->at(0, 0), stride, points);
      case Method::red_black: return sweep_color(here, stride, points, (first_row() + first_column() + half) & 1);
      case Method::chaotic:
        return tuned_ ? sweep_gauss_seidel_staggered(here, stride, points)
                      : sweep_gauss_seidel(here, stride, points);
    }
    return 0;
  }

  int first_row() const { return static_cast<int>(rows_.begin(grid_.row())); }
  int first_column() const { return static_cast<int>(columns_.begin(grid_.column())); }
  double* whole_at(int row, int column) {
    return whole_.as<double>().data() + static_cast<std::size_t>(row + 1) * (size_ + 2) + column + 1;
  }

  void initialize() {
    const int rows = static_cast<int>(rows_.size(grid_.row()));
    const int columns = static_cast<int>(columns_.size(grid_.column()));
    current_ = std::make_unique<Block>(rows, columns);
    if (two_arrays()) next_ = std::make_unique<Block>(rows, columns);
    parts_ = parts_of(rows, columns, sides(), overlapped_);
    mine_ = Buffer(static_cast<std::size_t>(rows + 2) * (columns + 2) * sizeof(double));
    const int stride = static_cast<int>(current_->stride());
    column_.emplace(Datatype::vector(rows, 1, stride, 1, MPI_DOUBLE, sizeof(double)));
    if (!communicator_.root()) return;
    packed_ = Buffer(static_cast<std::size_t>(layout(1).total()) * sizeof(double));
    whole_ = Buffer(static_cast<std::size_t>(size_ + 2) * (size_ + 2) * sizeof(double));
    for (int row = -1; row <= size_; ++row)
      for (int column = -1; column <= size_; ++column) *whole_at(row, column) = problem_->start(row, column);
  }

  // The position of each rank's block, with a halo of this many points, among the packed blocks of all ranks.
  Parcels layout(int ring) const {
    std::vector<int> sizes;
    for (int rank = 0; rank < communicator_.size(); ++rank)
      sizes.push_back(static_cast<int>((rows_.size(rank / grid_.columns()) + 2 * ring) *
                                       (columns_.size(rank % grid_.columns()) + 2 * ring)));
    return Parcels(std::move(sizes));
  }

  // Calls `row_of` for each row of each block, with its packed form, its place in the whole grid and its length.
  template <class Row>
  void for_each_packed_row(int ring, Row row_of) {
    double* packed = packed_.as<double>().data();
    for (int rank = 0; rank < communicator_.size(); ++rank) {
      const int grid_row = rank / grid_.columns();
      const int grid_column = rank % grid_.columns();
      const auto begin = static_cast<int>(columns_.begin(grid_column)) - ring;
      const auto length = static_cast<int>(columns_.size(grid_column)) + 2 * ring;
      for (auto row = rows_.begin(grid_row) - ring; row < rows_.end(grid_row) + ring; ++row) {
        row_of(packed, whole_at(static_cast<int>(row), begin), length);
        packed += length;
      }
    }
  }

  void distribute() {
    const auto [counts, begins] = layout(1);
    if (communicator_.root()) {
      for_each_packed_row(
          1, [](double* packed, const double* whole, int length) { std::copy(whole, whole + length, packed); });
    }
    MPI_Scatterv(packed_.data(), counts.data(), begins.data(), MPI_DOUBLE, mine_.data(),
                 counts[communicator_.rank()], MPI_DOUBLE, 0, communicator_.handle());
    const double* from = mine_.as<double>().data();
    const int width = current_->columns() + 2;
    for (int row = -1; row <= current_->rows(); ++row, from += width) {
      std::copy(from, from + width, current_->at(row, -1));
      if (next_) std::copy(from, from + width, next_->at(row, -1));
    }
  }

  void collect() {
    double* to = mine_.as<double>().data();
    for (int row = 0; row < current_->rows(); ++row)
      to = std::copy(current_->at(row, 0), current_->at(row, current_->columns()), to);
    const auto [counts, begins] = layout(0);
    MPI_Gatherv(mine_.data(), counts[communicator_.rank()], MPI_DOUBLE, packed_.data(), counts.data(),
                begins.data(), MPI_DOUBLE, 0, communicator_.handle());
    if (!communicator_.root()) return;
    for_each_packed_row(
        0, [](const double* packed, double* whole, int length) { std::copy(packed, packed + length, whole); });
  }

  // Data sent to a neighbor, and the position of the data received from the opposite neighbor.
  struct Edge {
    double* sent;
    double* received;
    int count;
    MPI_Datatype type;
    int to;
    int from;
    int tag;
  };
  std::array<Edge, 4> edges() {
    const int bottom = current_->rows() - 1;
    const int end = current_->columns() - 1;
    const int width = current_->columns();
    return {{{current_->at(0, 0), current_->at(bottom + 1, 0), width, MPI_DOUBLE, above_, below_, upward_tag},
             {current_->at(bottom, 0), current_->at(-1, 0), width, MPI_DOUBLE, below_, above_, downward_tag},
             {current_->at(0, 0), current_->at(0, end + 1), 1, column_->handle(), left_, right_, leftward_tag},
             {current_->at(0, end), current_->at(0, -1), 1, column_->handle(), right_, left_, rightward_tag}}};
  }

  void exchange() {
    for (const Edge& edge : edges()) {
      MPI_Sendrecv(edge.sent, edge.count, edge.type, edge.to, edge.tag, edge.received, edge.count, edge.type,
                   edge.from, edge.tag, communicator_.handle(), MPI_STATUS_IGNORE);
    }
  }

  std::array<MPI_Request, 8> start_exchange() {
    std::array<MPI_Request, 8> requests{};
    auto* request = requests.data();
    const auto all = edges();
    for (const Edge& edge : all)
      MPI_Irecv(edge.received, edge.count, edge.type, edge.from, edge.tag, communicator_.handle(), request++);
    for (const Edge& edge : all)
      MPI_Isend(edge.sent, edge.count, edge.type, edge.to, edge.tag, communicator_.handle(), request++);
    return requests;
  }

  // The bounds of a point after the last sweep.
  struct Bounds {
    double low;
    double high;
  };

  // Rounding errors of four sums of such values in every sweep, which means do not amplify, and of the powers.
  double tolerance() const {
    return 8 * std::numeric_limits<double>::epsilon() * problem_->largest() * (iterations_ + 8.0);
  }

  // Factors of the waves after this many sweeps, for all points or for each color.
  struct Iterate {
    Laplace::Factors even;
    Laplace::Factors odd;
  };
  Iterate iterate(std::int64_t sweeps) const {
    if (method_ != Method::red_black) return {problem_->factors(sweeps), problem_->factors(sweeps)};
    return {problem_->factors(std::max<std::int64_t>(0, 2 * sweeps - 1)), problem_->factors(2 * sweeps)};
  }
  double value(const Iterate& iterate, int row, int column) const {
    return problem_->at(row, column, (row + column) % 2 == 0 ? iterate.even : iterate.odd);
  }

  // Bounds for a wave that is nowhere negative. Upper: every mean that uses newer, smaller values is below
  // Jacobi's. Lower, by induction over the order of a sweep: with s = row + column, plus 2 if edges are swept
  // last, each value keeps lambda^(2k + s) of the wave, or lambda^(4k + s) if edges are swept last.
  Bounds chaotic_bounds(const Iterate& last, int row, int column) const {
    const double steps = (overlapped_ ? 4.0 : 2.0) * iterations_ + row + column + (overlapped_ ? 2 : 0);
    const double low = problem_->harmonic(row, column) +
                       problem_->slowest_wave(row, column) * std::pow(problem_->slowest_lambda(), steps);
    return {low, value(last, row, column)};
  }

  template <class Value>
  std::string points_problem(int row_begin, int rows, int column_begin, int columns, Value value_at) const {
    const Iterate last = iterate(iterations_);
    for (int row = row_begin; row < row_begin + rows; ++row) {
      for (int column = column_begin; column < column_begin + columns; ++column) {
        const double right = method_ == Method::chaotic ? 0 : value(last, row, column);
        const Bounds bounds =
            method_ == Method::chaotic ? chaotic_bounds(last, row, column) : Bounds{right, right};
        const double found = value_at(row - row_begin, column - column_begin);
        if (!(found >= bounds.low - tolerance() && found <= bounds.high + tolerance()))
          return wrong_point(row, column, found, bounds);
      }
    }
    return "";
  }
  static std::string wrong_point(int row, int column, double found, const Bounds& bounds) {
    char text[160];
    std::snprintf(text, sizeof text, "point (%d, %d) is %.17g, not between %.17g and %.17g", row, column, found,
                  bounds.low, bounds.high);
    return text;
  }

  // The points of the block as they were collected.
  std::span<std::byte> packed_block() {
    const auto points = static_cast<std::size_t>(current_->rows()) * current_->columns();
    return mine_.bytes().first(points * sizeof(double));
  }
  std::string block_problem() {
    const double* const points = mine_.as<double>().data();
    return points_problem(first_row(), current_->rows(), first_column(), current_->columns(),
                          [=, this](int row, int column) { return points[row * current_->columns() + column]; });
  }
  std::string result_problem() {
    for (int row = -1; row <= size_; ++row) {
      const bool outside = row < 0 || row == size_;
      for (int column = -1; column <= size_; column += outside ? 1 : size_ + 1) {
        const double right = problem_->start(row, column);
        if (*whole_at(row, column) != right)
          return wrong_point(row, column, *whole_at(row, column), {right, right});
      }
    }
    return points_problem(0, size_, 0, size_, [this](int row, int column) { return *whole_at(row, column); });
  }

  // The largest change in the last sweep, from the iterates before and after it. Collective.
  std::string change_problem() {
    const Iterate before = iterate(iterations_ - 1);
    const Iterate after = iterate(iterations_);
    double change = 0;
    for (int row = first_row(); row < first_row() + current_->rows(); ++row)
      for (int column = first_column(); column < first_column() + current_->columns(); ++column)
        change = std::max(change, std::abs(value(after, row, column) - value(before, row, column)));
    return wrong_change(communicator_.largest(change));
  }
  std::string wrong_change(double right) const {
    if (std::abs(change_ - right) <= 2 * tolerance()) return "";
    char text[120];
    std::snprintf(text, sizeof text, "the largest change is %.17g, not %.17g", change_, right);
    return text;
  }

  // Compares the result after the initial sweeps, as many as can be replayed serially. Collective.
  std::string replay_problem() {
    const std::int64_t points = static_cast<std::int64_t>(size_) * size_;
    const auto sweeps = static_cast<int>(std::clamp<std::int64_t>(replayed_points / points, 1, iterations_));
    if (sweeps < iterations_) {
      Untimed untimed;
      solve(sweeps, untimed);
    }
    return communicator_.root() ? replay_and_compare(sweeps) : "";
  }

  std::string replay_and_compare(int sweeps) {
    const Replayed replayed = replay_chaotic(*problem_, rows_, columns_, overlapped_, sweeps);
    for (int row = 0; row < size_; ++row) {
      for (int column = 0; column < size_; ++column) {
        const double right = replayed.at(row, column);
        const double found = *whole_at(row, column);
        if (!(std::abs(found - right) <= tolerance())) return wrong_point(row, column, found, {right, right});
      }
    }
    return wrong_change(replayed.change);
  }

  const Communicator& communicator_;
  int size_;
  int iterations_;
  Method method_;
  bool tuned_;
  bool overlapped_;
  ProcessGrid grid_;
  Partition rows_;
  Partition columns_;
  SweepJacobi tuned_jacobi_ = widest_sweep_jacobi();
  std::optional<Laplace> problem_;
  int above_ = MPI_PROC_NULL;
  int below_ = MPI_PROC_NULL;
  int left_ = MPI_PROC_NULL;
  int right_ = MPI_PROC_NULL;
  Partners from_root_ = Partners::root();
  Partners everyone_ = Partners::everyone();
  Partners neighbors_ = Partners::none();
  Partners collected_ = Partners::none();
  std::unique_ptr<Block> current_;
  std::unique_ptr<Block> next_;  // target of a Jacobi sweep from one array to another
  std::vector<Rectangle> parts_;
  Buffer whole_{0};   // on the root: the grid with its boundary, initial and final values
  Buffer packed_{0};  // on the root: all blocks, each with its halo, packed for transfer
  Buffer mine_{0};    // this rank's block, packed for transfer
  std::optional<Datatype> column_;
  bool neighbors_known_ = true;
  double change_ = 0;
};

const Registration registration{{
    .name = "algorithm.relaxation",
    .title = "relaxation",
    .summary = "relaxation of the Laplace equation on a process grid: total time and phases",
    .rungs = {communication(), arithmetic()},
    .parameters = {size("n", "", 120, 1, 46000, "grid size N: N x N points inside the boundary")
                       .labeled("grid points per side")
                       .worded("{} points per side"),
                   problem("iterations", "", 100, 1, 1'000'000, "number of sweeps over all points")
                       .worded("1=1 iteration,{} iterations"),
                   problem("method", "chaotic,jacobi,red_black",
                           "Gauss-Seidel inside a block with old values from neighbors (Melas 2000), or a "
                           "method with the same result on any process grid")
                       .worded("chaotic,Jacobi,red-black"),
                   parallel("exchange", "blocking,overlapped",
                            "send-receives between sweeps, or messages in flight while the inner points are swept")
                       .worded(",overlapped exchange"),
                   method("variant", "plain,tuned",
                          "plain loops, or tuned loops: vectors (jacobi), or several rows at a time (chaotic)")
                       .worded(",tuned"),
                   grid_rows()},
    .definition = Definition::max_rank,
    .metrics = with_phases({seconds("time_s"), seconds_per_step("time_per_iteration_s"), flops_per_second()}),
    .sweeps = {{"baseline", "ranks=1,2,4 method=chaotic n=240"},
               {"baseline", "ranks=1,2,4 method=jacobi variant=tuned n=240"},
               {"baseline", "ranks=2,4 method=jacobi variant=tuned exchange=overlapped n=240"},
               {"standard", "ranks=every method=chaotic n=720 iterations=1000"},
               {"standard", "ranks=powers method=jacobi variant=plain,tuned n=720 iterations=1000"},
               {"standard",
                "ranks=all method=red_black,chaotic exchange=blocking,overlapped n=720 iterations=1000"},
               {"advanced", "ranks=every method=chaotic,jacobi,red_black n=720,1080,1500 iterations=1000"},
               {"advanced",
                "ranks=every method=chaotic,jacobi variant=tuned exchange=blocking,overlapped n=720,1080,1500 "
                "iterations=1000"}},
    .make = make<Relaxation>,
}};

}  // namespace
}  // namespace scope::relaxation
