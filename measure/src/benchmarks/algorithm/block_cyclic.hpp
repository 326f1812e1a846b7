// Block-cyclic matrices: square blocks are distributed over a process grid, row by row and column by column,
// as in ScaLAPACK and HPL.
#pragma once

#include "benchmark.hpp"
#include "blas/dense.hpp"
#include "mpi/process_grid.hpp"

namespace scope {

// One dimension: `items` in blocks of `block`, distributed cyclically over `parts` processes from the first
// one on, as seen by process `mine`.
class BlockCyclic {
 public:
  BlockCyclic(std::int64_t items, std::int64_t block, int parts, int mine)
      : items_(items), block_(block), parts_(parts), mine_(mine), local_(before(items, mine)) {}

  std::int64_t items() const { return items_; }
  std::int64_t block() const { return block_; }
  int mine() const { return mine_; }
  int parts() const { return parts_; }

  // The number of items of this process.
  std::int64_t local() const { return local_; }
  int owner(std::int64_t item) const { return static_cast<int>(item / block_ % parts_); }
  // The local position of an item on its owner.
  std::int64_t place(std::int64_t item) const { return item / block_ / parts_ * block_ + item % block_; }
  std::int64_t item(std::int64_t place) const {
    return (place / block_ * parts_ + mine_) * block_ + place % block_;
  }
  // The items of this process in local order.
  std::vector<std::int64_t> all() const {
    std::vector<std::int64_t> items(local_);
    for (std::int64_t i = 0; i < local_; ++i) items[i] = item(i);
    return items;
  }
  // The number of this process's items among the first `end`, which is the local position of its first item
  // from `end` on.
  std::int64_t before(std::int64_t end, int process) const {
    const std::int64_t whole = end / block_;
    const std::int64_t full = (whole / parts_ + (process < whole % parts_ ? 1 : 0)) * block_;
    return full + (process == whole % parts_ ? end % block_ : 0);
  }
  std::int64_t before(std::int64_t end) const { return before(end, mine_); }

 private:
  std::int64_t items_;
  std::int64_t block_;
  int parts_;
  int mine_;
  std::int64_t local_;
};

// Both dimensions of a matrix, stored by columns on each process.
struct Layout {
  Layout(std::int64_t n_rows, std::int64_t n_columns, std::int64_t block, const ProcessGrid& grid);

  // At least 1, as BLAS and ScaLAPACK require.
  std::int64_t leading() const { return std::max<std::int64_t>(1, rows.local()); }
  std::int64_t values() const { return leading() * columns.local(); }

  BlockCyclic rows;
  BlockCyclic columns;
};

std::vector<Parameter> grid_parameters();
// For benchmarks that let ranks follow the rows or the columns of the grid.
Parameter grid_order_parameter();
GridOrder asked_order(const Parameters& parameters);
// Throws Unavailable where rows times columns differ from the number of processes.
ProcessGrid asked_grid(const Parameters& parameters, const Communicator& communicator,
                       GridOrder order = GridOrder::rows);

// The matrix element at a local position.
using Element = std::function<double(std::int64_t place, std::int64_t row, std::int64_t column)>;

// A x, or A^T x. Collective.
Vector distributed_product(const Layout& layout, const Element& element, const Vector& x,
                           const Communicator& communicator, bool transposed = false);

// |A| x, element by element. Collective.
Vector distributed_magnitudes(const Layout& layout, const Element& element, const Vector& x,
                              const Communicator& communicator);

// The largest row sum of magnitudes. Collective.
double distributed_row_norm(const Layout& layout, const Element& element, const Communicator& communicator);

// Empty when C = A B, all distributed alike and rounded to `unit`, else a message that names the wrong row;
// the bound is that of `product_problem`. Collective.
std::string distributed_product_problem(const Layout& layout, const Element& a, const Element& b, const Element& c,
                                        double unit, std::uint64_t seed, const Communicator& communicator);

// Sums the contributions of all processes to a vector; all receive the sum.
Vector summed(Vector parts, const Communicator& communicator);

}  // namespace scope
