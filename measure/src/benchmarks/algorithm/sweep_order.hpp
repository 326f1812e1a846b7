// The order in which the points of a block are swept.
#pragma once

#include <algorithm>
#include <vector>

namespace scope {

constexpr int line = 8;  // doubles in a cache line

struct Rectangle {
  int row_begin;
  int row_end;
  int column_begin;
  int column_end;
};

// Sides of a block that have a neighbor.
struct Sides {
  bool above;
  bool below;
  bool left;
  bool right;

  static Sides of(int row, int column, int rows, int columns) {
    return {row > 0, row + 1 < rows, column > 0, column + 1 < columns};
  }
};

// The order of a sweep: all points at once, or first the points that need no neighbor and then the edges. Left
// and right edges are whole cache lines, so alignment is preserved.
inline std::vector<Rectangle> parts_of(int rows, int columns, const Sides& neighbors, bool edges_last) {
  if (!edges_last) return {{0, rows, 0, columns}};
  const int top = neighbors.above ? 1 : 0;
  const int bottom = neighbors.below ? std::max(top, rows - 1) : rows;
  const int left = neighbors.left ? std::min(line, columns) : 0;
  const int right = neighbors.right ? std::max(left, (columns - 1) / line * line) : columns;
  return {{top, bottom, left, right},
          {0, top, 0, columns},
          {top, bottom, 0, left},
          {top, bottom, right, columns},
          {bottom, rows, 0, columns}};
}

}  // namespace scope
