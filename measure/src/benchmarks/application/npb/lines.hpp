// The lines of a cell along one axis, which implicit methods solve: many at once, side by side in vectors.
#pragma once

#include "benchmarks/application/npb/cell.hpp"

namespace scope::npb {

// The work on the lines of a cell: the forward sweep (elimination), the backward sweep (substitution), or
// both at once, a few lines at a time. Input from the cell before and output to the one after (backward: the
// other way round) are some numbers for each line; null at the walls.
struct Passage {
  bool forth;
  bool back;
  const double* received;
  double* sent;

  bool at_once() const { return forth && back; }
};

// The direction of a cell's lines, and the axes along which they are numbered: `inner` first.
template <int axis>
struct Lines {
  static constexpr int inner = axis == 0 ? 1 : 0;
  static constexpr int outer = axis == 2 ? 1 : 2;

  static int count(const Box& cell) { return cell.inner(inner) * cell.inner(outer); }
  static int length(const Box& cell) { return cell.inner(axis); }

  // Calls `action(lanes, line, i, j, k)`: a run of lines from number `line` on, whose first points off the
  // walls are at i, j, k.
  template <int widest, class Action>
  SCOPE_INLINE static void each_run(const Cell& cell, Action&& action) {
    int line = 0;
    Extents at;
    at[axis] = cell.inner_begin(axis);
    for (at[outer] = cell.inner_begin(outer); at[outer] < cell.inner_end(outer); ++at[outer]) {
      in_runs<widest>(cell.inner_begin(inner), cell.inner_end(inner), [&](auto lanes, int first) SCOPE_INLINE {
        at[inner] = first;
        action(lanes, line, at[0], at[1], at[2]);
        line += lanes.count;
      });
    }
  }

  // From lines side by side: along x, they are strided in memory.
  template <class Real>
  SCOPE_INLINE static inline Real get(const double* from, Stride apart) {
    if constexpr (axis == 0) return gather<Real>(from, apart);
    if constexpr (axis != 0) return load<Real>(from);
  }
  template <class Real>
  SCOPE_INLINE static inline void put(double* to, Stride apart, const Real& value) {
    if constexpr (axis == 0) scatter(to, apart, value);
    if constexpr (axis != 0) store(to, value);
  }
};

}  // namespace scope::npb
