// The common part of matrix products on a process grid: the root generates A and B, and receives and checks
// C.
#pragma once

#include <initializer_list>

#include "benchmarks/algorithm/block_message.hpp"
#include "benchmarks/algorithm/grid_rows.hpp"
#include "benchmarks/algorithm/local_product.hpp"
#include "benchmarks/algorithm/values.hpp"
#include "blas/dense.hpp"
#include "memory/available.hpp"
#include "mpi/process_grid.hpp"
#include "sampling/phases.hpp"

namespace scope {

class GridProduct : public Benchmark {
 public:
  // Cold by definition: the memory of the last repetition is released before the timed part, which allocates
  // it again.
  void run(Repetition& repetition) override {
    release();
    whole_.reset();
    std::optional<Phases> phases;
    repetition.time([&] {
      phases.emplace(repetition, meetings());
      solve(*phases);
      phases->leave();
    });
    phases->observe(repetition, communicator_);
  }

  void fill(std::uint64_t seed) override { seed_ = seed; }

  Check verify(std::uint64_t seed) override {
    if (!communicator_.root()) return {};
    // Transposed matrices stored by rows are matrices stored by columns: C^T = B^T A^T.
    return {std::int64_t{size_} * size_,
            product_problem(whole_->b.data(), whole_->a.data(), whole_->c.data(), size_, seed, "column")};
  }

  // The whole product on the root; the other ranks hold no checked data that a test could corrupt.
  std::span<std::byte> received() override { return whole_ ? whole_->c.bytes() : std::span<std::byte>(); }
  bool loops() const override { return false; }

  static std::vector<Parameter> parameters() {
    return {size("n", "", 120, 1, 46340, "matrix order N: N x N doubles").labeled("matrix order").worded("N = {}"),
            method("variant", "plain,transposed,overlapped,tuned",
                   "triple loop; triple loop with B transposed during its distribution; triple loop with "
                   "overlapped communication; BLAS with overlapped communication")
                .worded(",transposed,overlapped,tuned"),
            grid_rows()};
  }

  // The sizes of the thesis; sizes for which the plain loops would take half of the module's time belong to the
  // next module.
  static std::vector<Sweep> sweeps(std::vector<Sweep> own) {
    own.push_back({"standard", "ranks=every variant=plain,transposed n=240,600,840"});
    own.push_back({"standard", "ranks=every variant=transposed n=1080"});
    own.push_back({"standard", "ranks=1,all variant=overlapped n=240,600,840"});
    own.push_back({"standard", "ranks=every variant=tuned n=240,600,840,1080,1320,1680"});
    own.push_back({"advanced", "ranks=every variant=plain n=1080,1320,1680"});
    own.push_back({"advanced", "ranks=every variant=transposed n=1320,1680"});
    return own;
  }

 protected:
  struct Whole {
    explicit Whole(int size)
        : a(std::int64_t{size} * size), b(std::int64_t{size} * size), c(std::int64_t{size} * size) {}
    Values a;
    Values b;
    Values c;
  };

  GridProduct(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        size_(static_cast<int>(parameters.integer("n"))),
        variant_(parameters.choice("variant")),
        grid_(communicator, parameters.integer("grid_rows")),
        rows_(size_, grid_.rows()),
        columns_(size_, grid_.columns()),
        collected_(communicator.root() ? Partners::everyone() : Partners::root()) {}

  // Refuses problems that do not fit; memory is checked first, because all processes decide on it together.
  void require(std::int64_t values) {
    if (communicator_.root()) values += 3 * std::int64_t{size_} * size_;
    require_memory(values * static_cast<std::int64_t>(sizeof(double)), communicator_);
    product_.emplace(variant_);
  }

  virtual std::size_t meetings() const = 0;
  // Releases everything that `solve` allocated.
  virtual void release() = 0;
  // The whole program, including initialization.
  virtual void solve(Phases& phases) = 0;

  bool tuned() const { return variant_ == "tuned"; }
  // Whether messages are in flight during the product.
  bool overlapped() const { return tuned() || variant_ == "overlapped"; }

  void make_matrices() {
    if (!communicator_.root()) return;
    whole_.emplace(size_);
    map({&whole_->c});
    // Each matrix is filled while its new pages are in the cache.
    map({&whole_->a});
    make_matrix(whole_->a.all(), seed_);
    map({&whole_->b});
    make_matrix(whole_->b.all(), ~seed_);
  }

  // The plain loops use the same pages with and without overlap, so that only the communication differs.
  void map(std::initializer_list<Values*> all) const {
    if (!tuned()) return;
    for (Values* values : all) values->map();
  }

  Block whole(Values& values) const { return dense(values.data(), size_, size_); }
  // The part of C that the process at this place of the grid computes.
  Block share(int row, int column) {
    return whole(whole_->c).part(rows_.begin(row), columns_.begin(column), rows_.size(row), columns_.size(column));
  }
  std::int64_t share_values() const { return rows_.size(grid_.row()) * columns_.size(grid_.column()); }

  // Gathers the dense blocks of all processes by rank, and copies them to their positions in C on the root.
  void gather(const double* mine) {
    const auto sizes =
        of_each_process([&](int row, int column) { return rows_.size(row) * columns_.size(column); });
    const Parcels parcels(std::vector<int>(sizes.begin(), sizes.end()));
    Values packed(communicator_.root() ? std::int64_t{size_} * size_ : 0);
    MPI_Gatherv(mine, static_cast<int>(share_values()), MPI_DOUBLE, packed.data(), parcels.counts.data(),
                parcels.begins.data(), MPI_DOUBLE, 0, communicator_.handle());
    if (!communicator_.root()) return;
    for_each_process([&](int row, int column) {
      const Block target = share(row, column);
      copy(dense(packed.data() + parcels.begins[grid_.rank(row, column)], target.rows, target.columns), target);
    });
  }

  // The number of parts into which overlapped products are cut, so that messages make progress between them.
  int pieces() const { return communicator_.size() > 1 ? 4 : 1; }

  // One product in parts, with a call of `then` after each. The parts divide the inner dimension for the BLAS,
  // which blocks it anyway, and the rows for the loops, which then do the same work in the same order.
  template <class Then>
  void multiply_in_parts(const Block& a, const Block& b, const Block& c, Contribution contribution, Then then) {
    const Partition parts(tuned() ? a.columns : c.rows, pieces());
    for (int part = 0; part < parts.parts(); ++part) {
      if (tuned()) {
        const std::int64_t begin = parts.begin(part);
        const std::int64_t width = parts.size(part);
        (*product_)(a.part(0, begin, a.rows, width), b.part(begin, 0, width, b.columns), c,
                    part == 0 ? contribution : Contribution::further);
      } else {
        (*product_)(a.band(parts, part), b, c.band(parts, part), contribution);
      }
      then();
    }
  }

  // Receives the bands of a process's part, in the order in which they become ready.
  void receive_bands(const Block& share, int from, int tag, Requests& due) const {
    const Partition bands(share.rows, pieces());
    for (int band = 0; band < bands.parts(); ++band)
      start_receive(share.band(bands, band), from, tag, communicator_.handle(), due);
  }

  // Calls `action` for every process, by rank.
  template <class Action>
  void for_each_process(Action action) const {
    for (int row = 0; row < grid_.rows(); ++row)
      for (int column = 0; column < grid_.columns(); ++column) action(row, column);
  }

  template <class Value>
  std::vector<std::int64_t> of_each_process(Value value) const {
    std::vector<std::int64_t> values;
    for_each_process([&](int row, int column) { values.push_back(value(row, column)); });
    return values;
  }

  // Whether this process uses its blocks in place, inside the whole matrices.
  bool in_place() const { return overlapped() && communicator_.root(); }
  // The part of C of this process; `own` is its memory.
  Block share_in(Values& own) {
    if (in_place()) return share(0, 0);
    return dense(own.data(), rows_.size(grid_.row()), columns_.size(grid_.column()));
  }
  // A block of B of this process, transposed if requested.
  Block dense_b(double* values, std::int64_t inner) const {
    const std::int64_t columns = columns_.size(grid_.column());
    return product_->turned() ? dense(values, columns, inner) : dense(values, inner, columns);
  }
  void copy_b(const Block& from, double* to) const {
    if (product_->turned())
      copy_turned(from, dense(to, from.columns, from.rows));
    else
      copy(from, dense(to, from.rows, from.columns));
  }

  static void copy_turned(const Block& from, const Block& to) {
    for (std::int64_t j = 0; j < from.columns; ++j)
      for (std::int64_t i = 0; i < from.rows; ++i) to.data[j * to.stride + i] = from.data[i * from.stride + j];
  }

  const Communicator& communicator_;
  int size_;
  std::string variant_;
  ProcessGrid grid_;
  Partition rows_;     // of A and C over the rows of the grid
  Partition columns_;  // of B and C over its columns
  const Partners root_ = Partners::root();
  const Partners collected_;
  std::optional<LocalProduct> product_;
  std::optional<Whole> whole_;  // on the root
  std::uint64_t seed_ = 0;
};

}  // namespace scope
