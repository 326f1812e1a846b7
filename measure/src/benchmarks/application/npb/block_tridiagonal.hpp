// BT's lines: systems with 5 x 5 blocks on three diagonals, by elimination from the first cell of a line to
// the last and substitution back (Thomas), without pivoting (RNR-94-007, section 3.3.2).
#pragma once

#include "benchmarks/application/npb/jacobians.hpp"
#include "benchmarks/application/npb/lines.hpp"

namespace scope::npb {

// What one line tells the next cell: the eliminated row of the last point, its right block and its value;
// and back: the change at the first point.
constexpr int block_forward = quantities * quantities + quantities;
constexpr int block_backward = quantities;

template <int axis>
class BlockTridiagonal {
 public:
  // Doubles of the right blocks of all lines of a cell, which substitution needs.
  static std::size_t stored(const Cell& cell) {
    return static_cast<std::size_t>(Lines<axis>::count(cell)) * Lines<axis>::length(cell) * blocks;
  }
  // The same where both ways are done for a few lines at a time.
  static std::size_t stored_at_once(const Cell& cell) { return 8uz() * Lines<axis>::length(cell) * blocks; }

  BlockTridiagonal(Cell& cell, const Flow& flow, double* rights) : cell_(cell), flow_(flow), rights_(rights) {}

  // Of lines that end in this cell on both sides.
  template <int lanes>
  void solve() {
    Lines<axis>::template each_run<lanes>(cell_, [&](auto run, int, int i, int j, int k) {
      using Real = typename decltype(run)::Real;
      Row<Real> row{};
      eliminate(row, rights_, i, j, k);
      Real change[quantities]{};
      substitute(change, rights_, i, j, k);
    });
  }

  // `before`: block_forward doubles for each line, from the cell before, or null; `after`: for the next one.
  template <int lanes>
  void eliminate(const double* before, double* after) {
    Lines<axis>::template each_run<lanes>(cell_, [&](auto run, int line, int i, int j, int k) {
      using Real = typename decltype(run)::Real;
      Row<Real> row{};
      if (before != nullptr) std::memcpy(&row, before + line * block_forward, sizeof row);
      eliminate(row, rights_of(line), i, j, k);
      if (after != nullptr) std::memcpy(after + line * block_forward, &row, sizeof row);
    });
  }

  // `after`: block_backward doubles for each line, from the next cell, or null; `before`: for the one before.
  template <int lanes>
  void substitute(const double* after, double* before) {
    Lines<axis>::template each_run<lanes>(cell_, [&](auto run, int line, int i, int j, int k) {
      using Real = typename decltype(run)::Real;
      Real change[quantities]{};
      if (after != nullptr) std::memcpy(&change, after + line * block_backward, sizeof change);
      substitute(change, rights_of(line), i, j, k);
      if (before != nullptr) std::memcpy(before + line * block_backward, &change, sizeof change);
    });
  }

 private:
  static constexpr int blocks = quantities * quantities;
  static constexpr std::size_t 8uz();
};

}  // namespace scope::npb
