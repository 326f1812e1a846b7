// Sweeps over a rectangle of grid points: each point becomes the mean of its four neighbors. All sweeps return
// the largest change.
//
// `here` points to the point (0, 0) of an array whose rows are `stride` doubles apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "benchmarks/algorithm/sweep_order.hpp"

namespace scope {

using Stride = std::ptrdiff_t;

// The left neighbor is added last, since a sweep in place waits for it.
[[gnu::always_inline]] inline double mean_around(const double* point, Stride stride) {
  return 0.25 * (point[-stride] + point[1] + point[stride] + point[-1]);
}

// From `here` to `next`.
inline double sweep_jacobi(const double* here, double* next, Stride stride, const Rectangle& points) {
  double change = 0;
  for (Stride row = points.row_begin; row < points.row_end; ++row) {
    for (Stride at = row * stride + points.column_begin; at < row * stride + points.column_end; ++at) {
      const double value = mean_around(here + at, stride);
      change = std::max(change, std::abs(value - here[at]));
      next[at] = value;
    }
  }
  return change;
}

// In place, row by row, from left to right.
inline double sweep_gauss_seidel(double* here, Stride stride, const Rectangle& points) {
  double change = 0;
  for (Stride row = points.row_begin; row < points.row_end; ++row) {
    for (Stride at = row * stride + points.column_begin; at < row * stride + points.column_end; ++at) {
      const double value = mean_around(here + at, stride);
      change = std::max(change, std::abs(value - here[at]));
      here[at] = value;
    }
  }
  return change;
}

// In place, only the points for which row + column is even, or odd.
inline double sweep_color(double* here, Stride stride, const Rectangle& points, int parity) {
  double change = 0;
  for (Stride row = points.row_begin; row < points.row_end; ++row) {
    const Stride first = points.column_begin + ((row + points.column_begin + parity) & 1);
    for (Stride at = row * stride + first; at < row * stride + points.column_end; at += 2) {
      const double value = mean_around(here + at, stride);
      change = std::max(change, std::abs(value - here[at]));
      here[at] = value;
    }
  }
  return change;
}

// Gauss-Seidel, bitwise identical to the above, but several rows at once, each one point behind the row
// above: independent points hide each other's latency.
inline double sweep_gauss_seidel_staggered(double* here, Stride stride, const Rectangle& points) {
  constexpr int depth = 4;
  const Stride width = points.column_end - points.column_begin;
  Stride row = points.row_begin;
  double changes[depth] = {};
  const auto update = [&](double* point, int which) {
    const double value = mean_around(point, stride);
    changes[which] = std::max(changes[which], std::abs(value - *point));
    *point = value;
  };
  for (; row + depth <= points.row_end; row += depth) {
    double* const start = here + row * stride + points.column_begin;
    const auto step_checked = [&](Stride step) {
      for (int behind = 0; behind < depth; ++behind) {
        const Stride column = step - behind;
        if (column >= 0 && column < width) update(start + behind * stride + column, behind);
      }
    };
    Stride step = 0;
    for (; step < std::min<Stride>(depth - 1, width + depth - 1); ++step) step_checked(step);
    if (width >= depth) {
      double left[depth];
      for (int behind = 0; behind < depth; ++behind) left[behind] = start[behind * stride + step - behind - 1];
      for (; step < width; ++step) {
#pragma GCC unroll 4
        for (int behind = 0; behind < depth; ++behind) {
          double* const point = start + behind * stride + step - behind;
          const double value = 0.25 * (point[-stride] + point[1] + point[stride] + left[behind]);
          changes[behind] = std::max(changes[behind], std::abs(value - *point));
          *point = left[behind] = value;
        }
      }
    }
    for (; step < width + depth - 1; ++step) step_checked(step);
  }
  const Rectangle rest{static_cast<int>(row), points.row_end, points.column_begin, points.column_end};
  return std::max(*std::max_element(changes, changes + depth), sweep_gauss_seidel(here, stride, rest));
}

template <std::size_t bytes>
struct Lanes {
  static constexpr Stride count = bytes / sizeof(double);
  typedef double Vector __attribute__((vector_size(bytes)));
  typedef std::int64_t Mask __attribute__((vector_size(bytes)));

  [[gnu::always_inline]] static inline void load(Vector& vector, const double* from) {
    std::memcpy(&vector, from, bytes);
  }
  [[gnu::always_inline]] static inline void keep_larger(Vector& largest, const Vector& difference) {
    const Vector magnitude = (Vector)((Mask)difference & ~(Mask{} + INT64_MIN));
    largest = magnitude > largest ? magnitude : largest;
  }
};

// Jacobi with vectors of this many bytes and a maximum for each lane. Goes row by row, from left to right, so
// that `next` may be `here` - stride.
template <std::size_t bytes>
[[gnu::always_inline]] inline double sweep_jacobi_vectors(const double* here, double* next, Stride stride,
                                                          const Rectangle& points) {
  using L = Lanes<bytes>;
  const Stride width = points.column_end - points.column_begin;
  const Stride whole = width / L::count * L::count;
  typename L::Vector largest{};
  double change = 0;
  for (Stride row = points.row_begin; row < points.row_end; ++row) {
    const double* const from = here + row * stride + points.column_begin;
    double* const to = next + row * stride + points.column_begin;
    for (Stride at = 0; at < whole; at += L::count) {
      typename L::Vector up, right, down, left, old;
      L::load(up, from + at - stride);
      L::load(right, from + at + 1);
      L::load(down, from + at + stride);
      L::load(left, from + at - 1);
      L::load(old, from + at);
      const typename L::Vector value = 0.25 * (up + right + down + left);
      L::keep_larger(largest, value - old);
      std::memcpy(to + at, &value, bytes);
    }
    for (Stride at = whole; at < width; ++at) {
      const double value = mean_around(from + at, stride);
      change = std::max(change, std::abs(value - from[at]));
      to[at] = value;
    }
  }
  for (Stride lane = 0; lane < L::count; ++lane) change = std::max(change, double{largest[lane]});
  return change;
}

using SweepJacobi = double (*)(const double* here, double* next, Stride stride, const Rectangle& points);

#if defined(__x86_64__)
[[gnu::target("avx512f")]] inline double sweep_jacobi_512(const double* here, double* next, Stride stride,
                                                          const Rectangle& points) {
  return sweep_jacobi_vectors<64>(here, next, stride, points);
}
[[gnu::target("avx2")]] inline double sweep_jacobi_256(const double* here, double* next, Stride stride,
                                                       const Rectangle& points) {
  return sweep_jacobi_vectors<32>(here, next, stride, points);
}
#endif
inline double sweep_jacobi_128(const double* here, double* next, Stride stride, const Rectangle& points) {
  return sweep_jacobi_vectors<16>(here, next, stride, points);
}

// Uses the widest vectors of this processor, regardless of the build flags.
inline SweepJacobi widest_sweep_jacobi() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return sweep_jacobi_512;
  if (__builtin_cpu_supports("avx2")) return sweep_jacobi_256;
#endif
  return sweep_jacobi_128;
}

}  // namespace scope
