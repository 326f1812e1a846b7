// Matrices dealt out in square blocks over a grid of processes, row by row and column by column, as ScaLAPACK
// and HPL have them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "benchmark.hpp"
#include "blas/dense.hpp"
#include "mpi/process_grid.hpp"

namespace scope {

// One dimension: `items` in blocks of `block`, dealt to `parts` processes in turn from the first one on; seen
// by process `mine`.
class BlockCyclic {
 public:
  BlockCyclic(std::int64_t items, std::int64_t block, int parts, int mine)
      : items_(items), block_(block), parts_(parts), mine_(mine), local_(before(items, mine)) {}

  std::int64_t items() const { return items_; }
  std::int64_t block() const { return block_; }
  int mine() const { return mine_; }
  int parts() const { return parts_; }

  // How many of them this process has.
  std::int64_t local() const { return local_; }
  int owner(std::int64_t item) const { return static_cast<int>(item / block_ % parts_); }
  // Where an item lies on its owner.
  std::int64_t place(std::int64_t item) const { return item / block_ / parts_ * block_ + item % block_; }
  std::int64_t item(std::int64_t place) const {
    return (place / block_ * parts_ + mine_) * block_ + place % block_;
  }
  // The items of this process in the order of their places.
  std::vector<std::int64_t> all() const {
    std::vector<std::int64_t> items(local_);
    for (std::int64_t i = 0; i < local_; ++i) items[i] = item(i);
    return items;
  }
  // How many of the first `end` items a process has: the place of its first item from `end` on.
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

  // At least 1, as BLAS and ScaLAPACK ask for.
  std::int64_t leading() const { return std::max<std::int64_t>(1, rows.local()); }
  std::int64_t values() const { return leading() * columns.local(); }

  BlockCyclic rows;
  BlockCyclic columns;
};

std::vector<Parameter> grid_parameters();
// For benchmarks that let the ranks follow each other along rows or columns.
Parameter grid_order_parameter();
GridOrder asked_order(const Parameters& parameters);
// Throws Unavailable where rows times columns are not the processes.
ProcessGrid asked_grid(const Parameters& parameters, const Communicator& communicator,
                       GridOrder order = GridOrder::rows);

// The element of a matrix that lies at a place on this process.
using Element = std::function<double(std::int64_t place, std::int64_t row, std::int64_t column)>;

// A x, or A^T x. Collective.
Vector distributed_product(const Layout& layout, const Element& element, const Vector& x,
                           const Communicator& communicator, bool transposed = false);

// |A| x, element by element. Collective.
Vector distributed_magnitudes(const Layout& layout, const Element& element, const Vector& x,
                              const Communicator& communicator);

// The largest row sum of magnitudes. Collective.
double distributed_row_norm(const Layout& layout, const Element& element, const Communicator& communicator);

// Empty when C = A B, all dealt out alike and rounded to `unit`, else which row is wrong; the bound is that of
// `product_problem`. Collective.
std::string distributed_product_problem(const Layout& layout, const Element& a, const Element& b,
                                        const Element& c, double unit, std::uint64_t seed,
                                        const Communicator& communicator);

// Sums what every process has of a vector, so that all have all of it.
Vector summed(Vector parts, const Communicator& communicator);

}  // namespace scope
