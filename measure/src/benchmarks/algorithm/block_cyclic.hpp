// Block-cyclic matrices: square blocks are distributed over a process grid, row by row and column by column,
// as in ScaLAPACK and HPL.
#pragma once

#include "benchmark.hpp"
#include "blas/dense.hpp"
#include "mpi/process_grid.hpp"

namespace scope {

// One dimension: `items` in blocks of `block`, distributed cyclically over `parts` processes, beginning with
// the first one, as seen by process `mine`.
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
  // The number of a process's items among the first `end`, which is the local position of its first item at or
  // after `end`.
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

// Both dimensions of a matrix that is stored by columns on each process.
struct Layout {
  Layout(std::int64_t n_rows, std::int64_t n_columns, std::int64_t block, const ProcessGrid& grid)
      : rows(n_rows, block, grid.rows(), grid.row()), columns(n_columns, block, grid.columns(), grid.column()) {
    if (std::max(rows.local(), columns.local()) > std::numeric_limits<int>::max() / 2)
      throw Unavailable("a rank would have more rows or columns than a BLAS integer can hold");
  }

  // At least 1, as BLAS and ScaLAPACK require.
  std::int64_t leading() const { return std::max<std::int64_t>(1, rows.local()); }
  std::int64_t values() const { return leading() * columns.local(); }

  BlockCyclic rows;
  BlockCyclic columns;
};

inline std::vector<Parameter> grid_parameters() {
  return {
      parallel("grid_rows", "ranks", 0, 0, 1'000'000, "rows of the process grid; 0: chosen to fit the columns")
          .worded("1=1 grid row,{} grid rows"),
      parallel("grid_columns", "ranks", 0, 0, 1'000'000,
               "columns of the process grid; 0: chosen to fit the rows or, if both are 0, as square as possible")
          .worded("1=1 grid column,{} grid columns")};
}
// For benchmarks that let ranks follow the rows or the columns of the grid.
inline Parameter grid_order_parameter() {
  return parallel("grid_order", "rows,columns",
                  "number ranks along rows or columns of the grid; this decides which ranks share a host")
      .worded(",ranks along grid columns");
}
inline GridOrder asked_order(const Parameters& parameters) {
  return parameters.choice("grid_order") == "columns" ? GridOrder::columns : GridOrder::rows;
}
// Throws Unavailable if no grid of the requested rows and columns has this number of processes.
inline ProcessGrid asked_grid(const Parameters& parameters, const Communicator& communicator,
                              GridOrder order = GridOrder::rows) {
  const std::int64_t rows = parameters.integer("grid_rows");
  const std::int64_t columns = parameters.integer("grid_columns");
  const int processes = communicator.size();
  const bool divides = (rows == 0 || processes % rows == 0) && (columns == 0 || processes % columns == 0);
  if (!divides || (rows != 0 && columns != 0 && rows * columns != processes)) {
    const ProcessGrid squarest(communicator, 0);
    throw Unavailable(sentence({"a grid of ", (rows != 0 ? std::to_string(rows) : "any"), " x ",
                                (columns != 0 ? std::to_string(columns) : "any"), " does not fit ", processes,
                                " ranks: ", squarest.rows(), " x ", squarest.columns(), " would work"}));
  }
  return ProcessGrid(communicator, rows == 0 && columns != 0 ? processes / columns : rows, order);
}

// The matrix element at a local position.
using Element = std::function<double(std::int64_t place, std::int64_t row, std::int64_t column)>;

// Sums the contributions of all processes to a vector; all receive the sum.
inline Vector summed(Vector parts, const Communicator& communicator) {
  MPI_Allreduce(MPI_IN_PLACE, parts.data(), static_cast<int>(parts.size()), MPI_DOUBLE, MPI_SUM,
                communicator.handle());
  return parts;
}

// A x, or A^T x. Collective.
inline Vector distributed_product(const Layout& layout, const Element& element, const Vector& x,
                                  const Communicator& communicator, bool transposed = false) {
  Vector y(transposed ? layout.columns.items() : layout.rows.items());
  const auto rows = layout.rows.all();
  for (std::int64_t j = 0; j < layout.columns.local(); ++j) {
    const std::int64_t column = layout.columns.item(j);
    for (std::int64_t i = 0; i < layout.rows.local(); ++i) {
      const std::int64_t row = rows[i];
      const double value = element(i + j * layout.leading(), row, column);
      if (transposed)
        y[column] += value * x[row];
      else
        y[row] += value * x[column];
    }
  }
  return summed(std::move(y), communicator);
}

// |A| x, element by element. Collective.
inline Vector distributed_magnitudes(const Layout& layout, const Element& element, const Vector& x,
                                     const Communicator& communicator) {
  return distributed_product(
      layout,
      [&](std::int64_t place, std::int64_t row, std::int64_t column) {
        return std::abs(element(place, row, column));
      },
      x, communicator);
}

// The largest row sum of magnitudes. Collective.
inline double distributed_row_norm(const Layout& layout, const Element& element,
                                   const Communicator& communicator) {
  return largest(distributed_magnitudes(layout, element, Vector(layout.columns.items(), 1.0), communicator));
}

// Empty if C = A B, all distributed in the same way and rounded to `unit`, else a message that names the wrong
// row; the bound is the same as in `product_problem`. Collective.
inline std::string distributed_product_problem(const Layout& layout, const Element& a, const Element& b,
                                               const Element& c, double unit, std::uint64_t seed,
                                               const Communicator& communicator) {
  const std::int64_t n = layout.rows.items();
  const Vector x = probe(n, seed);
  const Vector left = distributed_product(layout, c, x, communicator);
  const Vector right =
      distributed_product(layout, a, distributed_product(layout, b, x, communicator), communicator);
  const Vector limit = distributed_magnitudes(
      layout, a, distributed_magnitudes(layout, b, Vector(n, 1.0), communicator), communicator);
  for (std::int64_t i = 0; i < n; ++i)
    if (!(std::abs(left[i] - right[i]) <= 4.0 * static_cast<double>(n) * unit * limit[i]))
      return sentence({"row ", i, " of the product is wrong: residual ", std::abs(left[i] - right[i])});
  return "";
}

}  // namespace scope
