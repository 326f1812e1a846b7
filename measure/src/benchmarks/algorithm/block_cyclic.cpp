#include "benchmarks/algorithm/block_cyclic.hpp"

namespace scope {

Layout::Layout(std::int64_t n_rows, std::int64_t n_columns, std::int64_t block, const ProcessGrid& grid)
    : rows(n_rows, block, grid.rows(), grid.row()), columns(n_columns, block, grid.columns(), grid.column()) {
  if (std::max(rows.local(), columns.local()) > std::numeric_limits<int>::max() / 2)
    throw Unavailable("a rank would have more rows or columns than a BLAS integer can hold");
}

std::vector<Parameter> grid_parameters() {
  return {parallel("grid_rows", "ranks", 0, 0, 1'000'000, "rows of the process grid; 0: chosen to fit the columns")
              .worded("1=1 grid row,{} grid rows"),
          parallel("grid_columns", "ranks", 0, 0, 1'000'000,
                   "columns of the process grid; 0: chosen to fit the rows, or the squarest grid")
              .worded("1=1 grid column,{} grid columns")};
}

Parameter grid_order_parameter() {
  return parallel("grid_order", "rows,columns",
                  "whether successive ranks follow rows or columns, which places hosts in the grid")
      .worded(",ranks along grid columns");
}
GridOrder asked_order(const Parameters& parameters) {
  return parameters.choice("grid_order") == "columns" ? GridOrder::columns : GridOrder::rows;
}

ProcessGrid asked_grid(const Parameters& parameters, const Communicator& communicator, GridOrder order) {
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

Vector summed(Vector parts, const Communicator& communicator) {
  MPI_Allreduce(MPI_IN_PLACE, parts.data(), static_cast<int>(parts.size()), MPI_DOUBLE, MPI_SUM,
                communicator.handle());
  return parts;
}

Vector distributed_product(const Layout& layout, const Element& element, const Vector& x,
                           const Communicator& communicator, bool transposed) {
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

Vector distributed_magnitudes(const Layout& layout, const Element& element, const Vector& x,
                              const Communicator& communicator) {
  return distributed_product(
      layout,
      [&](std::int64_t place, std::int64_t row, std::int64_t column) {
        return std::abs(element(place, row, column));
      },
      x, communicator);
}

double distributed_row_norm(const Layout& layout, const Element& element, const Communicator& communicator) {
  return largest(distributed_magnitudes(layout, element, Vector(layout.columns.items(), 1.0), communicator));
}

std::string distributed_product_problem(const Layout& layout, const Element& a, const Element& b, const Element& c,
                                        double unit, std::uint64_t seed, const Communicator& communicator) {
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
