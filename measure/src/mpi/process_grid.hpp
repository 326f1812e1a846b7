#pragma once

#include <cstdint>

#include "mpi/communicator.hpp"
#include "text/words.hpp"
#include "unavailable.hpp"

namespace scope {

// The dimension along which successive ranks are placed.
enum class GridOrder { rows, columns };

inline int squarest(int processes) {
  int rows = 1;
  for (int candidate = 2; candidate * candidate <= processes; ++candidate)
    if (processes % candidate == 0) rows = candidate;
  return rows;
}

// All processes in rows and columns.
class ProcessGrid {
 public:
  // `rows` 0: the squarest grid, with at most as many rows as columns. Throws Unavailable if `rows` does not
  // divide the number of processes.
  ProcessGrid(const Communicator& communicator, std::int64_t rows, GridOrder order = GridOrder::rows)
      : rows_(static_cast<int>(rows != 0 ? rows : squarest(communicator.size()))), order_(order) {
    if (rows > communicator.size() || communicator.size() % rows_ != 0) {
      throw Unavailable(sentence(
          {"grid_rows=", rows, ": must divide ", communicator.size(), " ranks, or be 0 for the squarest grid"}));
    }
    columns_ = communicator.size() / rows_;
    const int rank = communicator.rank();
    row_ = order == GridOrder::rows ? rank / columns_ : rank % rows_;
    column_ = order == GridOrder::rows ? rank % columns_ : rank / rows_;
  }

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  int row() const { return row_; }
  int column() const { return column_; }
  GridOrder order() const { return order_; }

  // Row and column wrap around, since the grid is a torus.
  int rank(int row, int column) const {
    const int i = wrapped(row, rows_);
    const int j = wrapped(column, columns_);
    return order_ == GridOrder::rows ? i * columns_ + j : i + j * rows_;
  }

 private:
  static int wrapped(int place, int count) { return (place % count + count) % count; }

  int rows_;
  GridOrder order_;
  int columns_;
  int row_;
  int column_;
};

}  // namespace scope
