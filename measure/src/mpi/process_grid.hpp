#pragma once

#include <cstdint>
#include <string>

#include "mpi/communicator.hpp"
#include "unavailable.hpp"

namespace scope {

// Along what successive ranks follow each other.
enum class GridOrder { rows, columns };

// All processes in rows and columns.
class ProcessGrid {
 public:
  // `rows` 0: as square as the number of processes allows, never more rows than columns. Throws Unavailable
  // when it does not divide them.
  ProcessGrid(const Communicator& communicator, std::int64_t rows, GridOrder order = GridOrder::rows)
      : rows_(static_cast<int>(rows != 0 ? rows : squarest(communicator.size()))), order_(order) {
    if (rows > communicator.size() || communicator.size() % rows_ != 0) {
      throw Unavailable("grid_rows=" + std::to_string(rows) + ": must divide " +
                        std::to_string(communicator.size()) + " processes, or be 0 for the squarest grid");
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

  // Row and column wrap around: the grid is a torus.
  int rank(int row, int column) const {
    const int i = wrapped(row, rows_);
    const int j = wrapped(column, columns_);
    return order_ == GridOrder::rows ? i * columns_ + j : i + j * rows_;
  }

 private:
  static int wrapped(int place, int count) { return (place % count + count) % count; }
  static int squarest(int processes) {
    int rows = 1;
    for (int candidate = 2; candidate * candidate <= processes; ++candidate) {
      if (processes % candidate == 0) rows = candidate;
    }
    return rows;
  }

  int rows_;
  GridOrder order_;
  int columns_;
  int row_;
  int column_;
};

}  // namespace scope
