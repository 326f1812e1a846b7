// Replays the chaotic relaxation of all processes serially, without messages, for comparison.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "benchmarks/algorithm/laplace.hpp"
#include "benchmarks/algorithm/partition.hpp"
#include "benchmarks/algorithm/sweep_order.hpp"

namespace scope {

struct Replayed {
  int size;
  std::vector<double> values;  // including the boundary
  double change;               // the largest change of the last sweep

  std::size_t place(int row, int column) const {
    return static_cast<std::size_t>(row + 1) * (size + 2) + column + 1;
  }
  double at(int row, int column) const { return values[place(row, column)]; }
};

// Sweeps one block, using new values of this block and `old` values of all others.
inline void replay_block(Replayed& now, const std::vector<double>& old, const Rectangle& block,
                         const std::vector<Rectangle>& parts) {
  const auto seen = [&](int row, int column) {
    const bool own =
        row >= block.row_begin && row < block.row_end && column >= block.column_begin && column < block.column_end;
    return (own ? now.values : old)[now.place(row, column)];
  };
  for (const auto& part : parts) {
    for (int row = block.row_begin + part.row_begin; row < block.row_begin + part.row_end; ++row) {
      for (int column = block.column_begin + part.column_begin; column < block.column_begin + part.column_end;
           ++column) {
        const double value =
            (seen(row - 1, column) + seen(row, column + 1) + seen(row + 1, column) + seen(row, column - 1)) / 4;
        now.change = std::max(now.change, std::abs(value - seen(row, column)));
        now.values[now.place(row, column)] = value;
      }
    }
  }
}

// `rows` and `columns`: partition of the points over the process grid.
inline Replayed replay_chaotic(const Laplace& problem, const Partition& rows, const Partition& columns,
                               bool edges_last, int sweeps) {
  const int size = problem.size();
  Replayed now{size, {}, 0};
  for (int row = -1; row <= size; ++row)
    for (int column = -1; column <= size; ++column) now.values.push_back(problem.start(row, column));
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    const std::vector<double> old = now.values;
    now.change = 0;
    for (int i = 0; i < rows.parts(); ++i) {
      for (int j = 0; j < columns.parts(); ++j) {
        const Rectangle block{static_cast<int>(rows.begin(i)), static_cast<int>(rows.end(i)),
                              static_cast<int>(columns.begin(j)), static_cast<int>(columns.end(j))};
        const auto parts = parts_of(static_cast<int>(rows.size(i)), static_cast<int>(columns.size(j)),
                                    Sides::of(i, j, rows.parts(), columns.parts()), edges_last);
        replay_block(now, old, block, parts);
      }
    }
  }
  return now;
}

}  // namespace scope
