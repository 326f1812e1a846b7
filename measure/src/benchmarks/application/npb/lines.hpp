// The lines of a cell along one axis, which implicit methods solve, many of them side by side in vectors.
#pragma once

#include "benchmarks/application/npb/cell.hpp"

namespace scope::npb {

// The work on the lines of a cell: the forward sweep (elimination), the backward sweep (substitution), or both,
// for a few lines at a time. Input from the previous cell and output to the next one (backward: the reverse)
// are some numbers for each line; null at the walls.
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

  // Calls `action(lanes, line, i, j, k)` for each run of lines, which starts at number `line` and whose first
  // points that are not on walls are at i, j, k.
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

  // Loads from adjacent lines, which are strided in memory if they run along x.
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

// Eliminates along the lines of a cell and substitutes back. `Method<axis>` tells how many numbers are `kept` at a
// point for the substitution, and how many a line sends to the next cell (`forward`) and back (`backward`); its
// types `Forward<Real>` and `Backward<Real>` are the data that go forward and back.
template <int axis, template <int> class Method>
class LineSolver {
 public:
  LineSolver(Cell& cell, const Flow& flow, double* factors) : cell_(cell), flow_(flow), factors_(factors) {}

  template <int lanes>
  SCOPE_INLINE void solve(const Passage& passage) {
    Lines<axis>::template each_run<lanes>(cell_, [&](auto run, int line, int i, int j, int k) SCOPE_INLINE {
      if constexpr (run.count == 1)
        solve_one(passage, line, i, j, k);
      else
        solve_run<typename decltype(run)::Real>(passage, line, i, j, k);
    });
  }

 protected:
  Cell& cell_;
  const Flow& flow_;

 private:
  // Single lines are rare, so that one function serves all vector widths.
  [[gnu::noinline]] void solve_one(const Passage& passage, int line, int i, int j, int k) {
    solve_run<double>(passage, line, i, j, k);
  }

  template <class Real>
  SCOPE_INLINE void solve_run(const Passage& passage, int line, int i, int j, int k) {
    auto& method = static_cast<Method<axis>&>(*this);
    double* const factors = passage.at_once() ? factors_ : factors_of(line);
    if (passage.forth) {
      typename Method<axis>::template Forward<Real> rows{};
      if (passage.received != nullptr)
        std::memcpy(&rows, passage.received + line * Method<axis>::forward, sizeof rows);
      method.eliminate(rows, factors, i, j, k);
      if (passage.sent != nullptr) std::memcpy(passage.sent + line * Method<axis>::forward, &rows, sizeof rows);
    }
    if (passage.back) {
      typename Method<axis>::template Backward<Real> ahead{};
      if (passage.received != nullptr)
        std::memcpy(&ahead, passage.received + line * Method<axis>::backward, sizeof ahead);
      method.substitute(ahead, factors, i, j, k);
      if (passage.sent != nullptr) std::memcpy(passage.sent + line * Method<axis>::backward, &ahead, sizeof ahead);
    }
  }

  double* factors_of(int line) {
    return factors_ + static_cast<std::size_t>(line) * Lines<axis>::length(cell_) * Method<axis>::kept;
  }

  double* factors_;
};

}  // namespace scope::npb
