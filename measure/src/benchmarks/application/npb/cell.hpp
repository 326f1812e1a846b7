// A box of grid points of one process, with the quantities on it.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "benchmarks/application/npb/decomposition.hpp"
#include "benchmarks/application/npb/flow.hpp"
#include "benchmarks/application/npb/vectors.hpp"
#include "memory/buffer.hpp"

namespace scope::npb {

// Several numbers at each point of a box and of `ghost` layers around it. A row along x of one number is
// contiguous, followed by the rows of the other numbers, then by the next row: neighbors in every direction
// are near, and formulas run along x with unit stride.
class Field {
 public:
  Field(int components, const Extents& size, int ghost)
      : ghost_(ghost),
        row_(row(size, ghost)),
        line_(row_ * components),
        plane_(line_ * (size[1] + 2 * ghost)),
        memory_(bytes(components, size, ghost)) {}

  static std::size_t bytes(int components, const Extents& size, int ghost) {
    return sizeof(double) * row(size, ghost) * components * (size[1] + 2 * ghost) * (size[2] + 2 * ghost);
  }

  double* at(int i, int j, int k) {
    return memory_.as<double>().data() + (k + ghost_) * plane_ + (j + ghost_) * line_ + i + ghost_;
  }
  std::span<const std::byte> bytes() { return memory_.bytes(); }
  Stride component() const { return row_; }
  Stride along(int axis) const { return axis == 0 ? 1 : axis == 1 ? line_ : plane_; }

 private:
  static Stride row(const Extents& size, int ghost) { return (size[0] + 2 * ghost + 7) / 8 * 8; }

  int ghost_;
  Stride row_;
  Stride line_;
  Stride plane_;
  Buffer memory_;  // zeros
};

// Quantities derived at a point, stored in this order.
namespace derived {
constexpr int volume = 0;         // 1 / density
constexpr int velocity = 1;       // three
constexpr int kinetic = 4;        // half the square of the velocity
constexpr int energy = 5;         // per mass
constexpr int sound = 6;          // speed of sound, if requested
constexpr int without_sound = 6;  // numbers at a point
constexpr int with_sound = 7;
}  // namespace derived

// Weights of the fourth difference at each point along an axis; the stencil is truncated at the walls.
struct FourthDifference {
  // For `size` of n points, starting at `begin`.
  FourthDifference(int begin, int size, int n) {
    for (auto& weight : weights) weight.assign(size, 0);
    for (int i = 0; i < size; ++i) {
      const int below = begin + i;  // number of points on this side
      const int above = n - 1 - below;
      weights[0][i] = below < 3 ? 0 : 1;
      weights[1][i] = below < 2 ? 0 : -4;
      weights[2][i] = below < 2 || above < 2 ? 5 : 6;
      weights[3][i] = above < 2 ? 0 : -4;
      weights[4][i] = above < 3 ? 0 : 1;
    }
  }

  std::array<std::vector<double>, 5> weights;
};

// The points of the grid in one cell of a process.
struct Box {
  bool at_low_wall(int axis) const { return begin[axis] == 0; }
  bool at_high_wall(int axis) const { return begin[axis] + size[axis] == n; }
  // The range of points that are not on walls, in local numbering.
  int inner_begin(int axis) const { return at_low_wall(axis) ? 1 : 0; }
  int inner_end(int axis) const { return at_high_wall(axis) ? size[axis] - 1 : size[axis]; }
  int inner(int axis) const { return std::max(0, inner_end(axis) - inner_begin(axis)); }
  // The range of the cell's points and of existing points in `layers` layers around it.
  int outer_begin(int axis, int layers) const { return -std::min(begin[axis], layers); }
  int outer_end(int axis, int layers) const { return size[axis] + std::min(n - begin[axis] - size[axis], layers); }
  // Coordinate of the cell's point `at` along an axis, in the unit cube.
  double place(int axis, int at) const { return static_cast<double>(begin[axis] + at) / (n - 1); }

  int n;          // number of grid points along each axis
  Extents begin;  // the cell's first point
  Extents size;   // number of points along each axis
};

struct Cell : Box {
  static constexpr int u_ghost = 2;
  static constexpr int derived_ghost = 1;

  // `residual_ghost`: number of layers of the neighbors' residuals that the method needs.
  Cell(const Box& box, int derived_numbers, int residual_ghost)
      : Box(box),
        u(quantities, box.size, u_ghost),
        derived(derived_numbers, box.size, derived_ghost),
        residual(quantities, box.size, residual_ghost),
        forcing(quantities, box.size, 0),
        fourth{FourthDifference(begin[0], size[0], n), FourthDifference(begin[1], size[1], n),
               FourthDifference(begin[2], size[2], n)} {}

  static std::size_t bytes(const Box& box, int derived_numbers, int residual_ghost) {
    return Field::bytes(quantities, box.size, u_ghost) + Field::bytes(derived_numbers, box.size, derived_ghost) +
           Field::bytes(quantities, box.size, residual_ghost) + Field::bytes(quantities, box.size, 0);
  }

  Field u;
  Field derived;
  Field residual;  // later the change of u
  Field forcing;
  std::array<FourthDifference, 3> fourth;
};

// Calls `action(i, j, k)` for the points of the box.
template <class Action>
void for_points(const Extents& begin, const Extents& end, Action&& action) {
  for (int k = begin[2]; k < end[2]; ++k) {
    for (int j = begin[1]; j < end[1]; ++j)
      for (int i = begin[0]; i < end[0]; ++i) action(i, j, k);
  }
}

// Puts `value(x, y, z)` into u at the cell's points and at all existing ghost points.
template <class Value>
void set_u(Cell& cell, int layers, Value&& value) {
  Extents from, to;
  for (int axis = 0; axis < 3; ++axis) {
    from[axis] = cell.outer_begin(axis, layers);
    to[axis] = cell.outer_end(axis, layers);
  }
  for_points(from, to, [&](int i, int j, int k) {
    const Quantities at = value(cell.place(0, i), cell.place(1, j), cell.place(2, k));
    double* const u = cell.u.at(i, j, k);
    for (int m = 0; m < quantities; ++m) u[m * cell.u.component()] = at[m];
  });
}

// u += factor * change, except on walls.
template <int lanes>
SCOPE_INLINE inline void add_change(Cell& cell, double factor) {
  for (int k = cell.inner_begin(2); k < cell.inner_end(2); ++k) {
    for (int j = cell.inner_begin(1); j < cell.inner_end(1); ++j) {
      in_runs<lanes>(cell.inner_begin(0), cell.inner_end(0), [&](auto run, int i) SCOPE_INLINE {
        using Real = typename decltype(run)::Real;
        double* const u = cell.u.at(i, j, k);
        const double* const change = cell.residual.at(i, j, k);
        each<quantities>([&](auto m) SCOPE_INLINE {
          double* const to = u + m * cell.u.component();
          store<Real>(to, load<Real>(to) + factor * load<Real>(change + m * cell.residual.component()));
        });
      });
    }
  }
}

// Calls `action` with a reference to every number of u in the two outermost layers of the cell along an axis
// (`step` -1: at its beginning), or in the two ghost layers beyond them; wall points are not needed and omitted.
template <class Action>
void for_face(Cell& cell, int axis, int step, bool ghosts, Action&& action) {
  Extents from{cell.inner_begin(0), cell.inner_begin(1), cell.inner_begin(2)};
  Extents to{cell.inner_end(0), cell.inner_end(1), cell.inner_end(2)};
  if (step < 0)
    from[axis] = ghosts ? -Cell::u_ghost : 0;
  else
    from[axis] = ghosts ? cell.size[axis] : cell.size[axis] - Cell::u_ghost;
  to[axis] = from[axis] + Cell::u_ghost;
  for (int k = from[2]; k < to[2]; ++k) {
    for (int j = from[1]; j < to[1]; ++j) {
      for (int m = 0; m < quantities; ++m) {
        double* const row = cell.u.at(0, j, k) + m * cell.u.component();
        for (int i = from[0]; i < to[0]; ++i) action(row[i]);
      }
    }
  }
}
// The number of these values.
inline std::size_t face_numbers(const Box& box, int axis) {
  std::size_t numbers = static_cast<std::size_t>(Cell::u_ghost) * quantities;
  for (int other = 0; other < 3; ++other) numbers *= other == axis ? 1 : box.inner(other);
  return numbers;
}

}  // namespace scope::npb
