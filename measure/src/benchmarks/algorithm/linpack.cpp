// algorithm.linpack: a dense system of equations, solved as in HPL by Scope's own LU factorization.
//
// Timed: factorization with partial pivoting of the block-cyclic [A | b], and the solution with U, on every
// rank; the slowest counts. Generating the matrix and computing the residual are not timed.
//
// Not for sanitizers: they cannot see into the BLAS, without which nothing runs.

#include "benchmarks/algorithm/block_cyclic.hpp"
#include "benchmarks/algorithm/linpack/hpl_matrix.hpp"
#include "benchmarks/algorithm/linpack/panel_factors.hpp"
#include "benchmarks/algorithm/linpack/row_exchange.hpp"
#include "benchmarks/algorithm/panel_broadcast.hpp"
#include "benchmarks/algorithm/values.hpp"
#include "faults/faults.hpp"
#include "memory/available.hpp"

namespace scope::linpack {
namespace {

constexpr double threshold = 16;  // of HPL
constexpr double unit = epsilon / 2;

class Stopwatch {
 public:
  explicit Stopwatch(const TickClock& ticks) : ticks_(ticks) {}

  template <class Action>
  void add(double& seconds, Action action) {
    const Ticks start = ticks_.now();
    action();
    seconds += ticks_.seconds(ticks_.now() - start);
  }

 private:
  const TickClock& ticks_;
};

class Linpack final : public Benchmark {
 public:
  Linpack(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        n_(parameters.integer("n")),
        block_(static_cast<int>(std::min(parameters.integer("block"), parameters.integer("n")))),
        swap_in_tree_(parameters.choice("swap") == "binomial"),
        grid_(asked_grid(parameters, communicator)),
        layout_(n_, n_ + 1, block_, grid_),
        leading_(spread(layout_.leading())),
        source_(n_, kind(parameters.choice("matrix"))),
        row_(Communicator::split(communicator, grid_.row(), grid_.column())),
        column_(Communicator::split(communicator, grid_.column(), grid_.row())),
        // A panel that is not sent is best factored after everything else.
        ahead_(parameters.integer("look_ahead") != 0 && row_.size() > 1),
        spans_hosts_(spans_hosts(row_)),
        a_(required()),
        factors_(column_, layout_.rows, block_),
        broadcasts_{PanelBroadcast(row_, parameters.choice("broadcast"), 0),
                    PanelBroadcast(row_, parameters.choice("broadcast"), 1)},
        wrong_pivot_(Faults::from_environment().asks("wrong-pivot", "algorithm.linpack")) {
    a_.map();
  }

  Work work() const override {
    const double n = static_cast<double>(n_);
    return {.flops = (2.0 / 3 * n + 3.0 / 2) * n * n};
  }

  void run(Repetition& repetition) override {
    make();
    Stopwatch watch(repetition.ticks());
    watch_ = &watch;
    times_ = {};
    missing_ = 0;
    repetition.time([&] {
      watch.add(times_.factorize_s, [&] { factorize(); });
      watch.add(times_.solve_s, [&] { solve(); });
    });
    watch_ = nullptr;
    repetition.observe("factorize_s", times_.factorize_s);
    repetition.observe("solve_s", times_.solve_s);
    repetition.observe("panel_s", times_.panel_s);
    repetition.observe("broadcast_s", times_.broadcast_s);
    repetition.observe("swap_s", times_.swap_s);
    repetition.observe("update_s", times_.update_s);
    // Samples hold only numbers: a NaN becomes a value worse than any other.
    const double found = residual();
    repetition.observe("residual", std::isfinite(found) ? found : std::numeric_limits<double>::max());
  }

  Check verify(std::uint64_t) override {
    const std::int64_t missing = communicator_.largest(missing_);
    if (missing != 0) return {n_, sentence({"column ", missing, " has no pivot: the matrix is singular"})};
    const double found = residual();
    if (!(found < threshold)) return {n_, sentence({"the scaled residual is ", found, ": must be below 16"})};
    return {n_, ""};
  }

  // The part of the solution that this process computed.
  std::span<std::byte> received() override { return std::as_writable_bytes(std::span(own_x_)); }
  std::vector<std::span<const std::byte>> computed() override { return {a_.bytes()}; }  // the factors
  bool loops() const override { return false; }

 private:
  struct Times {
    double factorize_s = 0;
    double solve_s = 0;
    double panel_s = 0;      // factoring panels
    double broadcast_s = 0;  // waiting for panels
    double swap_s = 0;       // exchanging rows
    double update_s = 0;     // matrix products
  };

  static HplMatrix::Kind kind(const std::string& name) {
    if (name == "singular") return HplMatrix::Kind::singular;
    return name == "not_a_number" ? HplMatrix::Kind::not_a_number : HplMatrix::Kind::regular;
  }

  // Columns that are a multiple of a page apart would map to the same cache sets.
  static std::int64_t spread(std::int64_t rows) {
    const std::int64_t whole = (rows + 7) / 8 * 8;
    return whole % 256 == 0 ? whole + 8 : whole;
  }

  // The number of matrix values on this process; refuses a matrix that does not fit.
  std::int64_t required() const {
    const std::int64_t rows = layout_.rows.local();
    const std::int64_t columns = layout_.columns.local();
    const std::int64_t panel = (rows + block_ + 1) * block_;
    if (std::max({panel, columns * block_}) > std::numeric_limits<int>::max()) {
      throw Unavailable(sentence(
          {"n=", n_, " block=", block_, ": a message would have more than 2147483647 values on this grid"}));
    }
    require_memory(static_cast<std::int64_t>(sizeof(double)) *
                       (leading_ * columns + 3 * panel + 3 * columns * block_ + 6 * n_),
                   communicator_);
    return std::max<std::int64_t>(1, leading_ * columns);
  }

  std::int64_t steps() const { return (n_ + block_ - 1) / block_; }
  std::int64_t first(std::int64_t step) const { return step * block_; }
  int width(std::int64_t step) const { return static_cast<int>(std::min<std::int64_t>(block_, n_ - first(step))); }
  double* at(std::int64_t row, std::int64_t column) { return a_.data() + row + column * leading_; }

  // Calls action(column place, row place, count, column) for every piece of a column in a block of rows.
  template <class Action>
  void each_piece(Action action) const {
    for (std::int64_t j = 0; j < layout_.columns.local(); ++j)
      for (std::int64_t i = 0; i < layout_.rows.local(); i += block_)
        action(j, i, std::min<std::int64_t>(block_, layout_.rows.local() - i), layout_.columns.item(j));
  }

  void make() {
    each_piece([&](std::int64_t j, std::int64_t i, std::int64_t count, std::int64_t column) {
      double* const to = at(i, j);
      source_.each(layout_.rows.item(i), column, count, [&](std::int64_t k, double value) { to[k] = value; });
    });
    own_x_.assign(own_count(), 0.0);
  }

  // The number of solution values of this process: those of its diagonal blocks.
  std::int64_t own_count() const {
    std::int64_t count = 0;
    for (std::int64_t step = 0; step < steps(); ++step) count += own(step) ? width(step) : 0;
    return count;
  }
  bool own(std::int64_t step) const { return has_column(step) && has_row(step); }
  bool has_column(std::int64_t step) const { return layout_.columns.owner(first(step)) == layout_.columns.mine(); }
  bool has_row(std::int64_t step) const { return layout_.rows.owner(first(step)) == layout_.rows.mine(); }

  // Right-looking. With a look-ahead, the next panel is updated and factored before the rest, and is broadcast
  // while the rest is updated.
  void factorize() {
    publish(0);
    for (std::int64_t step = 0; step < steps(); ++step) {
      watch_->add(times_.broadcast_s, [&] { broadcasts_[step % 2].wait(); });
      const std::int64_t end = layout_.columns.local();
      std::int64_t from = layout_.columns.before(first(step) + width(step));
      const bool more = step + 1 < steps();
      if (more && ahead_) {
        if (has_column(step + 1)) {
          update(step, from, from + width(step + 1));
          from += width(step + 1);
        }
        publish(step + 1);
      }
      update(step, from, end);
      if (more && !ahead_) publish(step + 1);
    }
    for (auto& broadcast : broadcasts_) broadcast.finish();
  }

  // Factors a panel in its process column, and starts its broadcast along the rows.
  void publish(std::int64_t step) {
    PanelBroadcast& broadcast = broadcasts_[step % 2];
    watch_->add(times_.broadcast_s, [&] { broadcast.finish(); });
    Panel& panel = panels_[step % 2];
    const std::int64_t top = layout_.rows.before(first(step));
    const std::int64_t next = layout_.rows.before(first(step) + width(step));
    panel.shape(first(step), width(step), layout_.rows.local() - top, next - top);
    if (has_column(step)) {
      watch_->add(times_.panel_s, [&] {
        const int missing = factors_(at(top, layout_.columns.place(first(step))), leading_, top, panel);
        if (missing != 0 && missing_ == 0) missing_ = first(step) + missing;
        if (wrong_pivot_ && step == 0 && n_ > 2) {
          double& pivot = panel.pivots()[0];
          pivot = static_cast<std::int64_t>(pivot) == n_ - 1 ? pivot - 1 : static_cast<double>(n_ - 1);
        }
      });
    }
    broadcast.start(panel.message(), layout_.columns.owner(first(step)));
  }

  // Applies a panel to the local columns [from, to).
  void update(std::int64_t step, std::int64_t from, std::int64_t to) {
    if (from >= to) return;
    Panel& panel = panels_[step % 2];
    const int columns = static_cast<int>(to - from);
    // If all rows are on this process, they are exchanged and multiplied in place.
    const Upper upper = column_.size() == 1 ? Upper{at(panel.first(), from), leading_}
                                            : Upper{room_for(panel.width(), columns), panel.width()};
    watch_->add(times_.swap_s, [&] {
      if (column_.size() == 1)
        exchange_here(panel, from, columns);
      else
        exchange_rows(panel, from, columns);
    });
    watch_->add(times_.update_s, [&] {
      multiply_in_pieces(
          columns, spans_hosts_ && ahead_ && step + 1 < steps(),
          [&](std::int64_t begin, int count) { multiply(panel, upper, from, begin, count); },
          [&] { broadcasts_[(step + 1) % 2].progress(); });
    });
  }

  // The rows of U in the columns to be updated.
  struct Upper {
    double* values;
    std::int64_t leading;
  };

  double* room_for(int width, int columns) {
    const std::size_t values = static_cast<std::size_t>(width) * columns;
    if (upper_.size() < values) upper_.resize(values);
    return upper_.data();
  }

  void multiply(Panel& panel, const Upper& upper, std::int64_t from, std::int64_t begin, int columns) {
    const int width = panel.width();
    const int rows = static_cast<int>(panel.rows());
    const int upper_leading = static_cast<int>(upper.leading);
    double* const u = upper.values + begin * upper.leading;
    solve_triangle_("L", "L", "N", "U", width, columns, 1.0, panel.square(), width, u, upper_leading);
    if (column_.size() > 1 && layout_.rows.owner(panel.first()) == layout_.rows.mine()) {
      const std::int64_t top = layout_.rows.place(panel.first());
      for (int j = 0; j < columns; ++j)
        std::copy_n(u + std::ptrdiff_t{j} * width, width, at(top, from + begin + j));
    }
    if (rows == 0) return;
    multiply_("N", "N", rows, columns, width, -1.0, panel.below(), static_cast<int>(panel.leading()), u,
              upper_leading, 1.0, at(layout_.rows.local() - rows, from + begin), static_cast<int>(leading_));
  }

  // Sends the pivot rows to every process of the column (`upper_`), and the displaced rows to the former
  // positions of the pivot rows.
  void exchange_rows(Panel& panel, std::int64_t from, int columns) {
    const RowExchange exchange(panel.first(), panel.pivots(), panel.width());
    const int parts = column_.size();
    const int mine = column_.rank();
    const int owner = layout_.rows.owner(panel.first());
    std::vector<std::vector<int>> up(parts);        // by process: positions of its rows in the panel
    std::vector<std::vector<int>> incoming(parts);  // by process: the displaced rows that it receives
    for (int j = 0; j < panel.width(); ++j) up[layout_.rows.owner(exchange.sources[j])].push_back(j);
    for (int i = 0; i < static_cast<int>(exchange.displaced.size()); ++i)
      incoming[layout_.rows.owner(exchange.displaced[i].first)].push_back(i);
    const Parcels above = parcels(up, columns);
    const Parcels below = parcels(incoming, columns);
    sent_.resize(above.total() + below.total());
    got_.resize(std::max<std::size_t>(1, std::size_t(below.counts[mine])));
    double* const all = sent_.data();
    double* const going = sent_.data() + above.total();

    // All values are read before any is written.
    pack(up[mine], from, columns, all + above.begins[mine], [&](int j) { return exchange.sources[j]; });
    if (mine == owner) {
      for (int part = 0; part < parts; ++part) {
        pack(incoming[part], from, columns, going + below.begins[part],
             [&](int i) { return exchange.displaced[i].second; });
      }
    }
    MPI_Scatterv(going, below.counts.data(), below.begins.data(), MPI_DOUBLE, got_.data(), below.counts[mine],
                 MPI_DOUBLE, owner, column_.handle());
    if (swap_in_tree_) {
      MPI_Gatherv(mine == owner ? MPI_IN_PLACE : static_cast<void*>(all + above.begins[mine]), above.counts[mine],
                  MPI_DOUBLE, all, above.counts.data(), above.begins.data(), MPI_DOUBLE, owner, column_.handle());
      MPI_Bcast(all, above.total(), MPI_DOUBLE, owner, column_.handle());
    } else {
      MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, above.counts.data(), above.begins.data(), MPI_DOUBLE,
                     column_.handle());
    }
    for (int part = 0; part < parts; ++part) {
      const double* piece = all + above.begins[part];
      const auto& places = up[part];
      for (int j = 0; j < columns; ++j) {
        double* const u = upper_.data() + std::ptrdiff_t{j} * panel.width();
        for (const int place : places) u[place] = *piece++;
      }
    }
    const double* piece = got_.data();
    for (int j = 0; j < columns; ++j) {
      double* const column = at(0, from + j);
      for (const int i : incoming[mine]) column[layout_.rows.place(exchange.displaced[i].first)] = *piece++;
    }
  }

  void exchange_here(Panel& panel, std::int64_t from, int columns) {
    const RowExchange exchange(panel.first(), panel.pivots(), panel.width());
    const std::size_t width = exchange.sources.size();
    up_.resize(width);
    for (int j = 0; j < columns; ++j) {
      double* const column = at(0, from + j);
      double* const top = column + panel.first();
      // Pivot rows are scattered: prefetch the values of a later column now.
      const double* const later = column + std::min(2, columns - 1 - j) * leading_;
      for (std::size_t i = 0; i < width; ++i) {
        __builtin_prefetch(later + exchange.sources[i]);
        up_[i] = column[exchange.sources[i]];
      }
      for (const auto& [to, source] : exchange.displaced) column[to] = column[source];
      std::copy_n(up_.data(), width, top);
    }
  }

  // The values of each process's list of rows in this many columns.
  static Parcels parcels(const std::vector<std::vector<int>>& rows, int columns) {
    std::vector<int> sizes;
    for (const auto& list : rows) sizes.push_back(static_cast<int>(list.size()) * columns);
    return Parcels(std::move(sizes));
  }

  template <class RowOf>
  void pack(const std::vector<int>& list, std::int64_t from, int columns, double* to, RowOf row_of) {
    places_.clear();
    for (const int item : list) places_.push_back(layout_.rows.place(row_of(item)));
    for (int j = 0; j < columns; ++j) {
      const double* const column = at(0, from + j);
      for (const std::int64_t place : places_) *to++ = column[place];
    }
  }

  // Solves U x = y from the last block to the first. Every process subtracts the contribution of its columns
  // from the rows above; a block's right-hand side is the sum of these over its grid row.
  void solve() {
    Vector right(static_cast<std::size_t>(layout_.leading()));
    if (layout_.columns.owner(n_) == layout_.columns.mine())
      std::copy_n(at(0, layout_.columns.place(n_)), layout_.rows.local(), right.data());
    Vector x(block_);
    std::int64_t known = static_cast<std::int64_t>(own_x_.size());
    const int leading = static_cast<int>(leading_);
    for (std::int64_t step = steps() - 1; step >= 0; --step) {
      const int width = this->width(step);
      const std::int64_t top = layout_.rows.before(first(step));
      const int owner_column = layout_.columns.owner(first(step));
      if (has_row(step))
        MPI_Reduce(right.data() + top, x.data(), width, MPI_DOUBLE, MPI_SUM, owner_column, row_.handle());
      if (!has_column(step)) continue;
      const std::int64_t place = layout_.columns.place(first(step));
      if (has_row(step)) {
        solve_vector_("U", "N", "N", width, at(top, place), leading, x, 1);
        known -= width;
        std::copy_n(x.data(), width, own_x_.data() + known);
      }
      MPI_Bcast(x.data(), width, MPI_DOUBLE, layout_.rows.owner(first(step)), column_.handle());
      const int above = static_cast<int>(top);
      if (above > 0) multiply_vector_("N", above, width, -1.0, at(0, place), leading, x, 1, 1.0, right, 1);
    }
  }

  // |A x - b| / (eps n (|A| |x| + |b|)) as in HPL: |A| is the largest row sum, other norms are the largest
  // elements, and eps is the unit roundoff. Collective.
  double residual() const {
    Vector x(n_);
    const double* part = own_x_.data();
    for (std::int64_t step = 0; step < steps(); ++step) {
      if (!own(step)) continue;
      std::copy_n(part, width(step), x.data() + first(step));
      part += width(step);
    }
    x = summed(std::move(x), communicator_);
    Vector difference(n_);
    Vector magnitudes(n_);
    Vector right(n_);
    each_piece([&](std::int64_t, std::int64_t i, std::int64_t count, std::int64_t column) {
      const std::int64_t row = layout_.rows.item(i);
      source_.each(row, column, count, [&](std::int64_t k, double value) {
        if (column == n_) {
          difference[row + k] -= value;
          right[row + k] = value;
        } else {
          difference[row + k] += value * x[column];
          magnitudes[row + k] += std::abs(value);
        }
      });
    });
    const double error = largest(summed(std::move(difference), communicator_));
    const double norm = largest(summed(std::move(magnitudes), communicator_));
    const double right_norm = largest(summed(std::move(right), communicator_));
    return error / (unit * static_cast<double>(n_) * (norm * largest(x) + right_norm));
  }

  const Communicator& communicator_;
  std::int64_t n_;
  int block_;
  bool swap_in_tree_;
  ProcessGrid grid_;
  Layout layout_;
  std::int64_t leading_;
  HplMatrix source_;
  Communicator row_;     // processes of the same grid row
  Communicator column_;  // processes of the same grid column
  bool ahead_;
  bool spans_hosts_;
  Values a_;
  PanelFactors factors_;
  std::array<Panel, 2> panels_;
  std::array<PanelBroadcast, 2> broadcasts_;
  bool wrong_pivot_;
  Vector upper_;  // pivot rows of the panel, in the columns to be updated
  Vector sent_;   // rows being sent
  Vector got_;
  Vector up_;  // of one column
  std::vector<std::int64_t> places_;
  Vector own_x_;
  std::int64_t missing_ = 0;  // first column without a pivot, from 1
  Stopwatch* watch_ = nullptr;
  Times times_;
  blas::Routine multiply_{"dgemm"};
  blas::Routine solve_triangle_{"dtrsm"};
  blas::Routine solve_vector_{"dtrsv"};
  blas::Routine multiply_vector_{"dgemv"};
};

std::vector<Parameter> parameters() {
  return together(
      {{size("n", "", 500, 1, 1'000'000, "equations").labeled("equations").worded("1=1 equation,{} equations"),
        method("block", "", 128, 1, 10'000, "block size (NB) of the block-cyclic distribution")
            .labeled("block size")},
       grid_parameters(),
       {parallel("broadcast", broadcasts, "how a factored panel travels along a row of the grid")
            .worded(",ring broadcast,binomial broadcast,long broadcast"),
        parallel("swap", "long,binomial",
                 "how pivot rows reach all ranks of a column: by an allgather, or by a gather and a broadcast")
            .worded(",binomial swap"),
        parallel("look_ahead", "", 1, 0, 1, "number of panels factored ahead of the current update"),
        problem("matrix", "hpl,singular,not_a_number",
                "HPL's matrix, or one that the check must reject: one with a column of zeros, or one with a NaN")
            .worded(",singular matrix,matrix with a NaN")}});
}

const Registration registration{{
    .name = "algorithm.linpack",
    .title = "LINPACK",
    .summary = "LINPACK: factor and solve a dense system of any size, as HPL does",
    .needs = {Requirement::blas},
    .rungs = {arithmetic()},
    .parameters = parameters(),
    .definition = Definition::max_rank,
    .metrics = {flops_per_second(), seconds("time_s"), phase("factorize_s"), phase("solve_s"), phase("panel_s"),
                phase("broadcast_s"), phase("swap_s"), phase("update_s"),
                condition("residual", "1", Better::lower)},
    .sweeps = {{"standard", "ranks=powers n=1000,2000"},
               {"advanced", "ranks=powers n=4000 block=64,128,192"},
               {"advanced", "ranks=powers n=8000"},
               {"advanced", "ranks=4 n=2000 broadcast=ring,ring_modified,binomial,long swap=long,binomial"}},
    .make = make<Linpack>,
}};

}  // namespace
}  // namespace scope::linpack
