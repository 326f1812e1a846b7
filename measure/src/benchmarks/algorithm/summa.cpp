// algorithm.summa: C = A B on a process grid by outer products of panels, which are broadcast while earlier
// panels are multiplied.
//
// Timed: one product on every rank; the slowest counts. The matrices are distributed before, block-cyclically
// as in ScaLAPACK, and stay in place.
#include <deque>

#include "benchmarks/algorithm/block_cyclic.hpp"
#include "benchmarks/algorithm/panel_broadcast.hpp"
#include "benchmarks/algorithm/values.hpp"
#include "blas/blas.hpp"
#include "memory/available.hpp"

namespace scope::summa {
namespace {

class Summa final : public Benchmark {
 public:
  Summa(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        n_(parameters.integer("n")),
        block_(static_cast<int>(std::min(parameters.integer("block"), n_))),
        together_(std::max<std::int64_t>(1, std::min(parameters.integer("panel"), n_) / block_)),
        grid_(asked_grid(parameters, communicator, asked_order(parameters))),
        layout_(n_, n_, block_, grid_),
        row_(Communicator::split(communicator, grid_.row(), grid_.column())),
        column_(Communicator::split(communicator, grid_.column(), grid_.row())),
        spans_hosts_(spans_hosts(communicator)),
        a_(required()),
        b_(layout_.values()),
        c_(layout_.values()) {
    for (Values* values : {&a_, &b_, &c_}) values->map();
    int tag = 0;
    for (auto& stage : stages_) {
      stage.a.resize(row_.size() > 1 ? layout_.leading() * depth() : 0);
      stage.b.resize(layout_.columns.local() * depth());
      for (std::int64_t i = 0; i < together_; ++i) {
        stage.broadcasts.emplace_back(row_, parameters.choice("broadcast"), tag);
        stage.broadcasts.emplace_back(column_, parameters.choice("broadcast"), tag++);
      }
    }
  }

  Work work() const override {
    const double n = static_cast<double>(n_);
    const double others = grid_.rows() + grid_.columns() - 2;
    return {.bytes = sizeof(double) * n * n * others,
            .flops = 2 * n * n * n,
            .messages = static_cast<double>(blocks()) *
                        (grid_.rows() * (grid_.columns() - 1.0) + grid_.columns() * (grid_.rows() - 1.0))};
  }

  void fill(std::uint64_t seed) override {
    make(a_, seed);
    make(b_, ~seed);
  }

  void run(Repetition& repetition) override {
    std::fill_n(c_.data(), layout_.values(), std::numeric_limits<double>::quiet_NaN());
    const TickClock& ticks = repetition.ticks();
    double communicate_s = 0;
    double compute_s = 0;
    repetition.time([&] {
      Ticks since = ticks.now();
      const auto until_now = [&](double& seconds) {
        const Ticks now = ticks.now();
        seconds += ticks.seconds(now - since);
        since = now;
      };
      start(0);
      for (std::int64_t step = 0; step < steps(); ++step) {
        for (auto& broadcast : stages_[step % 2].broadcasts) broadcast.wait();
        if (step + 1 < steps()) start(step + 1);
        until_now(communicate_s);
        multiply(step);
        until_now(compute_s);
      }
      for (auto& stage : stages_)
        for (auto& broadcast : stage.broadcasts) broadcast.finish();
      until_now(communicate_s);
    });
    repetition.observe("communicate_s", communicate_s);
    repetition.observe("compute_s", compute_s);
  }

  // The elements in the form needed by distributed_product and similar functions.
  static auto stored(Values& values) {
    return [data = values.data()](std::int64_t place, std::int64_t, std::int64_t) { return data[place]; };
  }

  Check verify(std::uint64_t seed) override {
    return {n_ * n_, distributed_product_problem(layout_, stored(a_), stored(b_), stored(c_),
                                                 std::numeric_limits<double>::epsilon() / 2, seed, communicator_)};
  }

  std::span<std::byte> received() override { return c_.bytes(); }
  bool loops() const override { return false; }

 private:
  // The panels of one step, several adjacent blocks each: A's by columns, B's transposed, so that each block is
  // one message and all blocks together are one factor.
  struct Stage {
    Vector a;
    Vector b;
    std::deque<PanelBroadcast> broadcasts;  // alternately of A and of B
  };

  // The number of values of a matrix on this process; refuses a matrix that does not fit.
  std::int64_t required() const {
    const std::int64_t edges = layout_.leading() + layout_.columns.local();
    if (edges * block_ > std::numeric_limits<int>::max()) {
      throw Unavailable(
          sentence({"block=", block_, ": a message would have more than 2147483647 values on this grid"}));
    }
    require_memory(static_cast<std::int64_t>(sizeof(double)) * (3 * layout_.values() + 2 * edges * depth()),
                   communicator_);
    return layout_.values();
  }

  std::int64_t depth() const { return together_ * block_; }
  std::int64_t blocks() const { return (n_ + block_ - 1) / block_; }
  std::int64_t steps() const { return (blocks() + together_ - 1) / together_; }
  std::int64_t first(std::int64_t step) const { return step * depth(); }
  std::int64_t width(std::int64_t step) const { return std::min(n_ - first(step), depth()); }

  void make(Values& values, std::uint64_t seed) const {
    for (std::int64_t j = 0; j < layout_.columns.local(); ++j) {
      for (std::int64_t i = 0; i < layout_.rows.local(); ++i) {
        values.data()[i + j * layout_.leading()] =
            matrix_value(seed, layout_.rows.item(i) + layout_.columns.item(j) * n_);
      }
    }
  }
  // Starts the broadcasts of a step's panels.
  void start(std::int64_t step) {
    Stage& stage = stages_[step % 2];
    for (std::int64_t i = 0; i < together_; ++i) {
      const std::int64_t begin = first(step) + i * block_;
      const std::int64_t width = std::min<std::int64_t>(block_, n_ - begin);
      if (width <= 0) break;
      PanelBroadcast& of_a = stage.broadcasts[2 * i];
      PanelBroadcast& of_b = stage.broadcasts[2 * i + 1];
      of_a.finish();
      of_b.finish();
      if (row_.size() > 1) {
        double* const panel = stage.a.data() + i * block_ * layout_.leading();
        const std::int64_t count = width * layout_.leading();
        const int owner = layout_.columns.owner(begin);
        if (owner == row_.rank()) std::copy_n(column_of_a(begin), count, panel);
        of_a.start({panel, static_cast<std::size_t>(count)}, owner);
      }
      const std::int64_t columns = layout_.columns.local();
      double* const panel = stage.b.data() + i * block_ * columns;
      const int owner = layout_.rows.owner(begin);
      if (owner == column_.rank()) turn(layout_.rows.place(begin), width, panel);
      of_b.start({panel, static_cast<std::size_t>(width * columns)}, owner);
    }
  }

  double* column_of_a(std::int64_t column) {
    return a_.data() + layout_.columns.place(column) * layout_.leading();
  }

  // Stores rows of B one after another.
  void turn(std::int64_t place, std::int64_t rows, double* to) {
    const std::int64_t columns = layout_.columns.local();
    constexpr std::int64_t tile = 16;
    for (std::int64_t begin = 0; begin < columns; begin += tile) {
      const std::int64_t end = std::min(columns, begin + tile);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = begin; j < end; ++j)
          to[i * columns + j] = b_.data()[place + i + j * layout_.leading()];
    }
  }

  void multiply(std::int64_t step) {
    Stage& stage = stages_[step % 2];
    const int rows = static_cast<int>(layout_.rows.local());
    const int columns = static_cast<int>(layout_.columns.local());
    if (rows == 0 || columns == 0) return;
    const int inner = static_cast<int>(width(step));
    const int leading = static_cast<int>(layout_.leading());
    const double before = step == 0 ? 0 : 1;
    // If the grid row has one process, columns of A are already adjacent.
    const double* const a = row_.size() > 1 ? stage.a.data() : column_of_a(first(step));
    multiply_in_pieces(
        columns, spans_hosts_ && step + 1 < steps(),
        [&](std::int64_t begin, int count) {
          multiply_("N", "T", rows, count, inner, 1.0, a, leading, stage.b.data() + begin, columns, before,
                    c_.data() + begin * layout_.leading(), leading);
        },
        [&] {
          for (auto& broadcast : stages_[(step + 1) % 2].broadcasts) broadcast.progress();
        });
  }

  const Communicator& communicator_;
  std::int64_t n_;
  int block_;
  std::int64_t together_;  // blocks multiplied at once
  ProcessGrid grid_;
  Layout layout_;
  Communicator row_;     // processes of the same grid row
  Communicator column_;  // processes of the same grid column
  bool spans_hosts_;
  Values a_;
  Values b_;
  Values c_;
  std::array<Stage, 2> stages_;
  blas::Routine multiply_{"dgemm"};
};

std::vector<Parameter> parameters() {
  return together(
      {{size("n", "", 240, 1, 1'000'000, "order of the matrices").labeled("matrix order").worded("N = {}"),
        method("block", "", 128, 1, 10'000, "block size (NB) of the block-cyclic distribution")
            .labeled("block size"),
        method("panel", "", 256, 1, 10'000, "columns of A multiplied in one step, rounded down to whole blocks")
            .labeled("panel width")},
       grid_parameters(),
       {grid_order_parameter(),
        parallel("broadcast", broadcasts_with_library, "how panels travel along rows and columns of the grid")
            .worded(",ring broadcasts,binomial broadcasts,long broadcasts,"
                    "broadcasts of the library,nonblocking broadcasts of the library")}});
}

const Registration registration{{
    .name = "algorithm.summa",
    .title = "SUMMA",
    .summary = "matrix multiplication on any process grid by outer products, overlapped with communication",
    .family = "matrix product",
    .needs = {Requirement::blas},
    .rungs = {communication(), arithmetic()},
    .parameters = parameters(),
    .definition = Definition::max_rank,
    .metrics = {flops_per_second(), seconds("time_s"), phase("compute_s"), phase("communicate_s")},
    .sweeps = {{"standard", "ranks=powers n=1000,2000"},
               {"advanced", "ranks=powers n=4000 block=64,128,256"},
               {"advanced", "ranks=4 n=2000 grid_rows=1,2,4 broadcast=ring,ring_modified,binomial,long,library"}},
    .make = make<Summa>,
}};

}  // namespace
}  // namespace scope::summa
