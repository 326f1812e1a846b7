// Matrices dealt out in square blocks over a grid of processes, row by row and column by column, as ScaLAPACK
// and HPL have them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
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
  Layout(std::int64_t n_rows, std::int64_t n_columns, std::int64_t block, const ProcessGrid& grid)
      : rows(n_rows, block, grid.rows(), grid.row()),
        columns(n_columns, block, grid.columns(), grid.column()) {
    if (std::max(rows.local(), columns.local()) > std::numeric_limits<int>::max() / 2) {
      throw Unavailable("a process would have more rows or columns than the BLAS can count");
    }
  }

  // At least 1, as BLAS and ScaLAPACK ask for.
  std::int64_t leading() const { return std::max<std::int64_t>(1, rows.local()); }
  std::int64_t values() const { return leading() * columns.local(); }

  BlockCyclic rows;
  BlockCyclic columns;
};

inline std::vector<Parameter> grid_parameters() {
  return {parallel("grid_rows", "ranks", 0, 0, 1'000'000,
                   "rows of the grid of processes; 0: as the columns allow"),
          parallel("grid_columns", "ranks", 0, 0, 1'000'000,
                   "columns of the grid of processes; 0: as the rows allow, or nearest to a square")};
}

// For benchmarks that let the ranks follow each other along rows or columns.
inline Parameter grid_order_parameter() {
  return parallel("grid_order", {"rows", "columns"},
                  "along what successive ranks follow each other: hosts lie so in the grid");
}
inline GridOrder asked_order(const Parameters& parameters) {
  return parameters.choice("grid_order") == "columns" ? GridOrder::columns : GridOrder::rows;
}

// Throws Unavailable where rows times columns are not the processes.
inline ProcessGrid asked_grid(const Parameters& parameters, const Communicator& communicator,
                              GridOrder order = GridOrder::rows) {
  const std::int64_t rows = parameters.integer("grid_rows");
  const std::int64_t columns = parameters.integer("grid_columns");
  const int processes = communicator.size();
  const bool divides = (rows == 0 || processes % rows == 0) && (columns == 0 || processes % columns == 0);
  if (!divides || (rows != 0 && columns != 0 && rows * columns != processes)) {
    const ProcessGrid squarest(communicator, 0);
    throw Unavailable("a grid of " + (rows != 0 ? std::to_string(rows) : "any") + " x " +
                      (columns != 0 ? std::to_string(columns) : "any") + " cannot be made of " +
                      std::to_string(processes) + " processes: " + std::to_string(squarest.rows()) + " x " +
                      std::to_string(squarest.columns()) + " would do");
  }
  return ProcessGrid(communicator, rows == 0 && columns != 0 ? processes / columns : rows, order);
}

// Sums what every process has of a vector, so that all have all of it.
inline Vector summed(Vector parts, const Communicator& communicator) {
  MPI_Allreduce(MPI_IN_PLACE, parts.data(), static_cast<int>(parts.size()), MPI_DOUBLE, MPI_SUM,
                communicator.handle());
  return parts;
}

// A x of the matrix whose elements `element(place, row, column)` are at those places, or A^T x. Collective.
template <class Element>
Vector distributed_product(const Layout& layout, Element element, const Vector& x,
                           const Communicator& communicator, bool transposed = false) {
  Vector y(transposed ? layout.columns.items() : layout.rows.items());
  const auto rows = layout.rows.all();
  for (std::int64_t j = 0; j < layout.columns.local(); ++j) {
    const std::int64_t column = layout.columns.item(j);
    for (std::int64_t i = 0; i < layout.rows.local(); ++i) {
      const std::int64_t row = rows[i];
      const double value = element(i + j * layout.leading(), row, column);
      if (transposed) {
        y[column] += value * x[row];
      } else {
        y[row] += value * x[column];
      }
    }
  }
  return summed(std::move(y), communicator);
}

// |A| x, element by element. Collective.
template <class Element>
Vector distributed_magnitudes(const Layout& layout, Element element, const Vector& x,
                              const Communicator& communicator) {
  return distributed_product(
      layout,
      [&](std::int64_t place, std::int64_t row, std::int64_t column) {
        return std::abs(static_cast<double>(element(place, row, column)));
      },
      x, communicator);
}

// The largest row sum of magnitudes. Collective.
template <class Element>
double distributed_row_norm(const Layout& layout, Element element, const Communicator& communicator) {
  return largest(distributed_magnitudes(layout, element, Vector(layout.columns.items(), 1.0), communicator));
}

// Empty when C = A B, all dealt out alike, else which row is wrong; the bound is that of `product_problem`.
// Collective.
template <class Real, class A, class B, class C>
std::string distributed_product_problem(const Layout& layout, A a, B b, C c, std::uint64_t seed,
                                        const Communicator& communicator) {
  const std::int64_t n = layout.rows.items();
  const Vector x = probe(n, seed);
  const Vector left = distributed_product(layout, c, x, communicator);
  const Vector right =
      distributed_product(layout, a, distributed_product(layout, b, x, communicator), communicator);
  const Vector limit = distributed_magnitudes(
      layout, a, distributed_magnitudes(layout, b, Vector(n, 1.0), communicator), communicator);
  const double unit = std::numeric_limits<Real>::epsilon() / 2;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(std::abs(left[i] - right[i]) <= 4.0 * static_cast<double>(n) * unit * limit[i])) {
      return "row " + std::to_string(i) + " of the product is wrong: residual " +
             std::to_string(std::abs(left[i] - right[i]));
    }
  }
  return "";
}

}  // namespace scope
