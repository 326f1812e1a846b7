// Sums over the grid that tell whether a flow was computed rightly (RNR-94-007, section 3.3.5).
#pragma once

#include "benchmarks/application/npb/cell.hpp"

namespace scope::npb {

// Sums of squares over the cell's inner points: of its residual, and of how far u is off the exact solution.
inline Quantities squares_of_residual(Cell& cell) {
  Quantities sum{};
  for (int m = 0; m < quantities; ++m) {
    for_points({cell.inner_begin(0), cell.inner_begin(1), cell.inner_begin(2)},
               {cell.inner_end(0), cell.inner_end(1), cell.inner_end(2)}, [&](int i, int j, int k) {
                 const double value = cell.residual.at(i, j, k)[m * cell.residual.component()];
                 sum[m] += value * value;
               });
  }
  return sum;
}

inline Quantities squares_of_error(Cell& cell) {
  Quantities sum{};
  for_points({0, 0, 0}, cell.size, [&](int i, int j, int k) {
    const Quantities exact = exact_solution(cell.place(0, i), cell.place(1, j), cell.place(2, k));
    const double* const u = cell.u.at(i, j, k);
    for (int m = 0; m < quantities; ++m) {
      const double error = u[m * cell.u.component()] - exact[m];
      sum[m] += error * error;
    }
  });
  return sum;
}

}  // namespace scope::npb
