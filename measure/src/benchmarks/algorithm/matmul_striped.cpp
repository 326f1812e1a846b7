// algorithm.matmul_striped: C = A B, rows of A and columns of B striped over a grid of processes.
//
// Timed: the whole program on every rank, the slowest counts: creating buffers, matrices and the communicators
// of rows and columns (initialize), sending stripes of A to the first column and of B to the first row of the
// grid (distribute), broadcasts along rows and down columns (exchange), one product (compute), sending C to the
// root (collect). After thesis 6.7.2 and appendices F.1 and G.
#include <chrono>

#include "benchmarks/algorithm/block_message.hpp"
#include "benchmarks/algorithm/grid_product.hpp"
#include "benchmarks/algorithm/local_product.hpp"
#include "benchmarks/algorithm/phase_metrics.hpp"

namespace scope::matmul_striped {
namespace {

// How fast each process multiplies while all of them do: if nodes differ, work is divided by these speeds.

// Long enough to average over a CPU that is withheld for part of every few milliseconds, as on a lab's slow hosts.
constexpr std::chrono::milliseconds speed_measured_for{200};

// Products of small square blocks per second on every process, by rank. Throws the same as LocalProduct.
std::vector<double> speeds(const Communicator& communicator, const std::string& variant, std::int64_t n) {
  const std::int64_t order = std::clamp<std::int64_t>(n, 1, 128);
  std::vector<double> a(order * order, 1.0);
  std::vector<double> b(order * order, 1.0);
  std::vector<double> c(order * order);
  const LocalProduct product(variant);
  MPI_Barrier(communicator.handle());
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> passed{0};
  double products = 0;
  do {
    product(dense(a.data(), order, order), dense(b.data(), order, order), dense(c.data(), order, order),
            Contribution::first);
    ++products;
    passed = std::chrono::steady_clock::now() - begin;
  } while (passed < speed_measured_for);
  const double mine = products / passed.count();
  std::vector<double> all(communicator.size());
  MPI_Allgather(&mine, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, communicator.handle());
  return all;
}

constexpr int a_tag = 20;
constexpr int b_tag = 21;
constexpr int c_tag = 22;

class Striped final : public GridProduct {
 public:
  Striped(const Parameters& parameters, const Communicator& communicator)
      : GridProduct(parameters, communicator),
        by_speed_(parameters.choice("dealing") == "by_speed"),
        dealt_(grid_.row() == 0 || grid_.column() == 0 ? Partners::root() : Partners::none()),
        heads_(Partners::these({grid_.rank(grid_.row(), 0), grid_.rank(0, grid_.column())})) {
    if (by_speed_) rows_ = by_speed();
    const std::int64_t packed = communicator.root() && !overlapped() ? std::int64_t{size_} * size_ : 0;
    require(a_values() + b_values() + c_values() + packed);
  }

  Work work() const override {
    const double n = size_;
    const double r = grid_.rows();
    const double c = grid_.columns();
    // Fractions that stay on the root: a stripe of A, one of B, and their product.
    const double kept_a = by_speed_ ? static_cast<double>(rows_.size(0)) / n : 1 / r;
    const double kept_b = 1 / c;
    // Matrices sent by the scatters, broadcasts (r stripes of A to c processes each, B likewise) and gather.
    const double matrices = (1 - kept_a) + (1 - kept_b) + (c - 1) + (r - 1) + (1 - kept_a * kept_b);
    return {.bytes = sizeof(double) * n * n * matrices,
            .flops = 2 * n * n * n,
            .messages = (r - 1) + (c - 1) + r * (c - 1) + c * (r - 1) + r * c - 1};
  }

 private:
  struct Stripes {
    Values a;
    Values b;
    Values c;
    Communicator row;     // the processes of this grid row, from the first column on
    Communicator column;  // the processes of this grid column, from the first row on
  };

  // Rows in proportion to the speed of the slowest process in each row of the grid.
  Partition by_speed() const {
    const std::vector<double> all = speeds(communicator_, variant_, size_);
    std::vector<double> slowest;
    for (int row = 0; row < grid_.rows(); ++row) {
      slowest.push_back(all[grid_.rank(row, 0)]);
      for (int column = 1; column < grid_.columns(); ++column)
        slowest.back() = std::min(slowest.back(), all[grid_.rank(row, column)]);
    }
    return {size_, slowest};
  }

  std::size_t meetings() const override { return pieces() + 2; }
  void release() override { stripes_.reset(); }

  void solve(Phases& phases) override {
    stripes_.emplace(Stripes{Values(a_values()), Values(b_values()), Values(c_values()),
                             Communicator::split(communicator_, grid_.row(), grid_.column()),
                             Communicator::split(communicator_, grid_.column(), grid_.row())});
    if (overlapped())
      solve_overlapped(phases);
    else
      solve_in_turn(phases);
  }

  // As in the thesis: one step after another, with blocking calls.
  void solve_in_turn(Phases& phases) {
    make_matrices();
    phases.meet(Phase::distribute, dealt_);
    if (grid_.column() == 0) scatter(rows_, communicator_.root() ? whole_->a.data() : nullptr, a().data, column());
    if (grid_.row() == 0) scatter_b();
    phases.meet(Phase::exchange, heads_);
    MPI_Bcast(a().data, static_cast<int>(a_values()), MPI_DOUBLE, 0, row());
    MPI_Bcast(b().data, static_cast<int>(b_values()), MPI_DOUBLE, 0, column());
    phases.enter(Phase::compute);
    (*product_)(a(), b(), c(), Contribution::first);
    phases.meet(Phase::collect, collected_);
    gather(c().data);
  }

  // Scatters stripes that follow one another, with N values per row of A or column of B.
  void scatter(const Partition& stripes, const double* all, double* mine, MPI_Comm communicator) const {
    const Parcels parcels(stripes, size_);
    int rank = 0;
    MPI_Comm_rank(communicator, &rank);
    MPI_Scatterv(all, parcels.counts.data(), parcels.begins.data(), MPI_DOUBLE, mine, parcels.counts[rank],
                 MPI_DOUBLE, 0, communicator);
  }

  // A stripe of columns is not contiguous: the root packs it, transposed if requested.
  void scatter_b() {
    Values packed(communicator_.root() ? std::int64_t{size_} * size_ : 0);
    for (int part = 0; communicator_.root() && part < columns_.parts(); ++part)
      copy_b(b_part(part), packed.data() + columns_.begin(part) * size_);
    scatter(columns_, packed.data(), b().data, row());
  }

  // Messages in flight while bands of C are computed.
  struct Traffic {
    std::vector<Requests> come;  // bands of A
    int passed = 0;              // bands that were forwarded along the row or need not be
    Requests leaving;            // messages that must only be complete at the end
  };

  // A band of A arrives while the previous one is multiplied and the band of C before that is sent; the root
  // uses its stripes in place.
  void solve_overlapped(Phases& phases) {
    map({&stripes_->a, &stripes_->b, &stripes_->c});
    make_matrices();
    Traffic traffic{.come = std::vector<Requests>(pieces()), .leaving = {}};
    phases.meet(Phase::distribute, dealt_);
    deal(traffic);
    phases.meet(Phase::exchange, heads_);
    MPI_Bcast(b().data, static_cast<int>(b().rows), row_type(b()).handle(), 0, column());
    if (grid_.column() != 0) expect_bands(traffic);
    if (communicator_.root()) expect_results(traffic);
    for (int band = 0; band < pieces(); ++band) {
      if (band > 0) phases.meet(Phase::exchange, heads_);
      finish(traffic.come[band]);
      pass_on(traffic);
      if (traffic.passed > band + 1) phases.offer();
      phases.enter(Phase::compute);
      multiply(band, traffic);
      if (!communicator_.root()) start_send(band_of(c(), band), 0, c_tag, communicator_.handle(), traffic.leaving);
    }
    phases.meet(Phase::collect, collected_);
    finish(traffic.leaving);
  }

  // Sends stripes of B to the first row and bands of A to the first column; waits only for each process's first.
  void deal(Traffic& traffic) {
    Requests urgent;
    if (communicator_.root())
      for (int part = 1; part < columns_.parts(); ++part)
        start_send(b_part(part), grid_.rank(0, part), b_tag, communicator_.handle(), urgent);
    else if (grid_.row() == 0)
      start_receive(b(), 0, b_tag, communicator_.handle(), urgent);
    for (int band = 0; band < pieces(); ++band) {
      if (communicator_.root()) {
        for (int part = 1; part < rows_.parts(); ++part) {
          start_send(band_of(a_part(part), band), grid_.rank(part, 0), a_tag, communicator_.handle(),
                     band == 0 ? urgent : traffic.leaving);
        }
      } else if (grid_.column() == 0) {
        start_receive(band_of(a(), band), 0, a_tag, communicator_.handle(), traffic.come[band]);
      }
    }
    finish(urgent);
    finish(traffic.come[0]);
  }

  void expect_bands(Traffic& traffic) {
    for (int band = 0; band < pieces(); ++band) broadcast(band, traffic.come[band]);
    traffic.passed = pieces();
  }

  void expect_results(Traffic& traffic) {
    for_each_process([&](int row, int column) {
      const int rank = grid_.rank(row, column);
      if (rank != 0) receive_bands(share(row, column), rank, c_tag, traffic.leaving);
    });
  }

  // Processes of the first column forward the bands that they have received along their row.
  void pass_on(Traffic& traffic) {
    while (traffic.passed < pieces() && progress(traffic.come[traffic.passed])) {
      broadcast(traffic.passed, traffic.leaving);
      ++traffic.passed;
    }
  }

  void broadcast(int band, Requests& requests) {
    const Block part = band_of(a(), band);
    MPI_Ibcast(part.data, part.values(), MPI_DOUBLE, 0, row(), &requests.emplace_back());
  }

  void multiply(int band, Traffic& traffic) {
    multiply_in_parts(band_of(a(), band), b(), band_of(c(), band), Contribution::first, [&] {
      pass_on(traffic);
      progress(traffic.leaving);
    });
  }

  Block band_of(const Block& block, int band) const { return block.band(Partition(block.rows, pieces()), band); }

  // Positions of the stripes on the root.
  Block a_part(int row) { return whole(whole_->a).part(rows_.begin(row), 0, rows_.size(row), size_); }
  Block b_part(int column) {
    return whole(whole_->b).part(0, columns_.begin(column), size_, columns_.size(column));
  }

  // The stripes of this process, and its part of C.
  Block a() { return in_place() ? a_part(0) : dense(stripes_->a.data(), rows_.size(grid_.row()), size_); }
  Block b() { return in_place() ? b_part(0) : dense_b(stripes_->b.data(), size_); }
  Block c() { return share_in(stripes_->c); }

  std::int64_t a_values() const { return in_place() ? 0 : rows_.size(grid_.row()) * size_; }
  std::int64_t b_values() const { return in_place() ? 0 : columns_.size(grid_.column()) * size_; }
  std::int64_t c_values() const { return in_place() ? 0 : share_values(); }

  MPI_Comm row() const { return stripes_->row.handle(); }
  MPI_Comm column() const { return stripes_->column.handle(); }

  bool by_speed_;
  Partners dealt_;  // the root and the processes that receive data from it
  Partners heads_;  // the first process of this row and the first of this column
  std::optional<Stripes> stripes_;
};

std::vector<Parameter> with_dealing(std::vector<Parameter> own) {
  own.push_back(parallel("dealing", "even,by_speed",
                         "rows of A and C in equal stripes, or in proportion to each grid row's slowest rank")
                    .worded(",rows by speed"));
  return own;
}

const Registration registration{{
    .name = "algorithm.matmul_striped",
    .title = "striped product",
    .summary = "matrix multiplication by row and column stripes: total time and phases",
    .family = "matrix product",
    .rungs = {communication(), arithmetic()},
    .parameters = with_dealing(GridProduct::parameters()),
    .definition = Definition::max_rank,
    .metrics = with_phases({seconds("time_s"), flops_per_second()}),
    .sweeps = GridProduct::sweeps({{"baseline", "ranks=1,2,4 variant=plain,transposed,tuned n=360"}}),
    .make = make<Striped>,
}};

}  // namespace
}  // namespace scope::matmul_striped
