// algorithm.matmul_cannon: C = A B by Cannon's algorithm on any grid of processes.
//
// Timed: the whole program on every rank, the slowest counts: allocating and filling buffers and matrices
// (initialize), sending aligned blocks to the processes (distribute), multiplying blocks (compute), sending blocks
// left and up (exchange), sending C to the root (collect). After thesis 6.7.3 and appendices F.2 and G. Non-square
// grids after Lee, Robertson and Fortes: the inner dimension is cut into L = lcm(r, c) blocks for r rows and c
// columns of processes; a process holds L/c blocks of A and L/r of B, and uses one of each in each of L steps.
#include <limits>
#include <numeric>

#include "benchmarks/algorithm/block_message.hpp"
#include "benchmarks/algorithm/grid_product.hpp"
#include "benchmarks/algorithm/phase_metrics.hpp"

namespace scope::matmul_cannon {
namespace {

constexpr int a_tag = 20;
constexpr int b_tag = 21;
constexpr int c_tag = 22;

// A ring buffer for the blocks of one matrix that pass through a process, in the order in which they are used.
class Queue {
 public:
  Queue(int places, std::int64_t block) : places_(places), block_(block), values_(places * block) {}

  // The block of a step; positions wrap around.
  double* at(int step) { return values_.data() + step % places_ * block_; }
  Values& values() { return values_; }

 private:
  int places_;
  std::int64_t block_;
  Values values_;
};

class Cannon final : public GridProduct {
 public:
  Cannon(const Parameters& parameters, const Communicator& communicator)
      : GridProduct(parameters, communicator),
        steps_(std::lcm(grid_.rows(), grid_.columns())),
        held_a_(steps_ / grid_.columns()),
        held_b_(steps_ / grid_.rows()),
        inner_(size_, steps_) {
    for (const bool a_moves : {false, true}) {
      for (const bool b_moves : {false, true}) {
        const int dealer = overlapped() ? 0 : MPI_PROC_NULL;  // source of blocks that do not come from a neighbor
        senders_.push_back(Partners::these({a_moves ? right() : dealer, b_moves ? down() : dealer}));
      }
    }
    const std::int64_t packed = overlapped() ? 0 : std::max(total(a_counts()), total(b_counts()));
    if (packed > std::numeric_limits<int>::max())
      throw Unavailable(sentence({"one scatter would have ", packed, " values: must be at most 2147483647"}));
    require(places(held_a_) * a_block(grid_.row()) + places(held_b_) * b_block(grid_.column()) + share_values() +
            (communicator.root() ? packed : 0));
  }

  Work work() const override {
    const double n = size_;
    const double p = communicator_.size();
    return {.bytes = sizeof(double) * n * n * (3 * (p - 1) / p + grid_.rows() + grid_.columns() - 2),
            .flops = 2 * n * n * n,
            .messages = 3 * (p - 1) + p * (2 * steps_ - held_a_ - held_b_)};
  }

 private:
  struct Blocks {
    Queue a;
    Queue b;
    Values c;
  };

  std::size_t meetings() const override { return steps_ + 1; }
  void release() override { blocks_.reset(); }

  void solve(Phases& phases) override {
    blocks_.emplace(Queue(places(held_a_), a_block(grid_.row())), Queue(places(held_b_), b_block(grid_.column())),
                    Values(in_place() ? 0 : share_values()));
    if (overlapped())
      solve_overlapped(phases);
    else
      solve_in_turn(phases);
  }

  // As in the thesis: one step after another, with blocking calls.
  void solve_in_turn(Phases& phases) {
    make_matrices();
    phases.meet(Phase::distribute, root_);
    scatter_a();
    scatter_b();
    for (int step = 0; step < steps_; ++step) {
      phases.enter(Phase::compute);
      (*product_)(a(step), b(step), c(), step == 0 ? Contribution::first : Contribution::further);
      const bool a_moves = step + held_a_ < steps_;
      const bool b_moves = step + held_b_ < steps_;
      if (a_moves || b_moves) phases.meet(Phase::exchange, senders(a_moves, b_moves));
      if (a_moves) shift(a(step), left(), a(step + held_a_), right(), a_tag);
      if (b_moves) shift(b(step), up(), b(step + held_b_), down(), b_tag);
    }
    phases.meet(Phase::collect, collected_);
    gather(blocks_->c.data());
  }

  void scatter_a() {
    scatter(a_counts(), blocks_->a.at(0), [&](int row, int column, double* to) {
      for (int step = 0; step < held_a_; ++step, to += a_block(row)) {
        const Block from = a_part(row, inner_at(row, column, step));
        copy(from, dense(to, from.rows, from.columns));
      }
    });
  }

  void scatter_b() {
    scatter(b_counts(), blocks_->b.at(0), [&](int row, int column, double* to) {
      for (int step = 0; step < held_b_; ++step, to += b_block(column))
        copy_b(b_part(inner_at(row, column, step), column), to);
    });
  }

  // Data are packed by `pack` for one process after another, so that each receives one message.
  template <class Pack>
  void scatter(const std::vector<std::int64_t>& values, double* mine, Pack pack) {
    const Parcels parcels(std::vector<int>(values.begin(), values.end()));
    Values packed(communicator_.root() ? parcels.total() : 0);
    if (communicator_.root()) {
      for_each_process([&](int row, int column) {
        pack(row, column, packed.data() + parcels.begins[grid_.rank(row, column)]);
      });
    }
    MPI_Scatterv(packed.data(), parcels.counts.data(), parcels.begins.data(), MPI_DOUBLE, mine,
                 parcels.counts[communicator_.rank()], MPI_DOUBLE, 0, communicator_.handle());
  }

  void shift(const Block& gone, int to, const Block& come, int from, int tag) {
    MPI_Sendrecv(gone.data, gone.values(), MPI_DOUBLE, to, tag, come.data, come.values(), MPI_DOUBLE, from, tag,
                 communicator_.handle(), MPI_STATUS_IGNORE);
  }

  // Blocks of the next step are sent during the product; the root uses its own blocks in place.
  void solve_overlapped(Phases& phases) {
    map({&blocks_->a.values(), &blocks_->b.values(), &blocks_->c});
    make_matrices();
    std::vector<Requests> due(steps_ + 1);  // before each step, and at the end
    phases.meet(Phase::distribute, root_);
    for (int step = 0; step < std::max(held_a_, held_b_); ++step) deal(step, due[step]);
    finish(due[0]);
    for (int step = 0; step < steps_; ++step) {
      if (step > 0) {
        phases.meet(Phase::exchange, senders(step >= held_a_, step >= held_b_));
        finish(due[step]);
      }
      pass_on(step, due);
      if (step + 1 < steps_) {
        phases.offer();
        phases.enter(Phase::compute);
        multiply_in_parts(a(step), b(step), c(), step == 0 ? Contribution::first : Contribution::further,
                          [&] { progress(due[step + 1]); });
      } else {
        phases.enter(Phase::compute);
        multiply_by_bands(step, due[step + 1]);
      }
    }
    phases.meet(Phase::collect, collected_);
    finish(due[steps_]);
  }

  // Sends the blocks of a step from the root to the others; those for the first step are sent first.
  void deal(int step, Requests& due) {
    if (!communicator_.root()) {
      if (step < held_b_) start_receive(b(step), 0, b_tag, communicator_.handle(), due);
      if (step < held_a_) start_receive(a(step), 0, a_tag, communicator_.handle(), due);
      return;
    }
    for_each_process([&](int row, int column) {
      const int rank = grid_.rank(row, column);
      if (rank == 0) return;
      const int inner = inner_at(row, column, step);
      if (step < held_b_) start_send(b_part(inner, column), rank, b_tag, communicator_.handle(), due);
      if (step < held_a_) start_send(a_part(row, inner), rank, a_tag, communicator_.handle(), due);
    });
  }

  // Forwards the blocks that this process uses for the last time in this step, and receives others into the
  // buffers of the previous step.
  void pass_on(int step, std::vector<Requests>& due) {
    if (step + held_a_ < steps_) {
      start_receive(a(step + held_a_), right(), a_tag, communicator_.handle(), due[step + held_a_]);
      start_send(a(step), left(), a_tag, communicator_.handle(), due[step + 1]);
    }
    if (step + held_b_ < steps_) {
      start_receive(b(step + held_b_), down(), b_tag, communicator_.handle(), due[step + held_b_]);
      start_send(b(step), up(), b_tag, communicator_.handle(), due[step + 1]);
    }
  }

  // The last product: each band of C is sent to the root while the next is computed.
  void multiply_by_bands(int step, Requests& due) {
    if (communicator_.root()) {
      for_each_process([&](int row, int column) {
        if (grid_.rank(row, column) != 0) receive_bands(share(row, column), grid_.rank(row, column), c_tag, due);
      });
    }
    const Partition bands(c().rows, pieces());
    for (int band = 0; band < bands.parts(); ++band) {
      (*product_)(a(step).band(bands, band), b(step), c().band(bands, band),
                  step == 0 ? Contribution::first : Contribution::further);
      if (!communicator_.root()) start_send(c().band(bands, band), 0, c_tag, communicator_.handle(), due);
      progress(due);
    }
  }

  int inner_at(int row, int column, int step) const { return (row * held_b_ + column * held_a_ + step) % steps_; }
  int inner_here(int step) const { return inner_at(grid_.row(), grid_.column(), step); }

  // Number of values in one buffer of a queue, for a row or a column of the grid.
  std::int64_t a_block(int row) const { return rows_.size(row) * inner_.largest(); }
  std::int64_t b_block(int column) const { return columns_.size(column) * inner_.largest(); }

  // Positions of the blocks on the root.
  Block a_part(int row, int inner) {
    return whole(whole_->a).part(rows_.begin(row), inner_.begin(inner), rows_.size(row), inner_.size(inner));
  }
  Block b_part(int inner, int column) {
    return whole(whole_->b).part(inner_.begin(inner), columns_.begin(column), inner_.size(inner),
                                 columns_.size(column));
  }

  // The blocks of this process.
  Block a(int step) {
    if (in_place() && step < held_a_) return a_part(grid_.row(), inner_here(step));
    return dense(blocks_->a.at(step), rows_.size(grid_.row()), inner_.size(inner_here(step)));
  }
  Block b(int step) {
    if (in_place() && step < held_b_) return b_part(inner_here(step), grid_.column());
    return dense_b(blocks_->b.at(step), inner_.size(inner_here(step)));
  }
  Block c() { return share_in(blocks_->c); }

  // Buffers: one more than the blocks held, for the incoming block; none for blocks inside a whole matrix.
  int places(int held) const { return std::min(held + 1, in_place() ? steps_ - held : steps_); }

  // Sizes of the initial blocks of each process.
  std::vector<std::int64_t> a_counts() const {
    return of_each_process([&](int row, int) { return held_a_ * a_block(row); });
  }
  std::vector<std::int64_t> b_counts() const {
    return of_each_process([&](int, int column) { return held_b_ * b_block(column); });
  }

  static std::int64_t total(const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  }

  const Partners& senders(bool a_moves, bool b_moves) const {
    return senders_[2 * static_cast<int>(a_moves) + static_cast<int>(b_moves)];
  }

  int left() const { return grid_.rank(grid_.row(), grid_.column() - 1); }
  int right() const { return grid_.rank(grid_.row(), grid_.column() + 1); }
  int up() const { return grid_.rank(grid_.row() - 1, grid_.column()); }
  int down() const { return grid_.rank(grid_.row() + 1, grid_.column()); }

  int steps_;
  int held_a_;
  int held_b_;
  Partition inner_;
  std::vector<Partners> senders_;
  std::optional<Blocks> blocks_;
};

const Registration registration{{
    .name = "algorithm.matmul_cannon",
    .title = "Cannon's algorithm",
    .summary = "matrix multiplication by Cannon's algorithm: total time and phases",
    .family = "matrix product",
    .rungs = {communication(), arithmetic()},
    .parameters = GridProduct::parameters(),
    .definition = Definition::max_rank,
    .metrics = with_phases({seconds("time_s"), flops_per_second()}),
    .sweeps = GridProduct::sweeps({{"baseline", "ranks=1,2,4 variant=plain n=360"},
                                   {"baseline", "ranks=1,2,4 variant=plain n=120"},
                                   {"baseline", "ranks=1,2,4 variant=transposed,tuned n=360"},
                                   {"baseline", "ranks=2 transport=tcp variant=plain n=360"}}),
    .make = make<Cannon>,
}};

}  // namespace
}  // namespace scope::matmul_cannon
