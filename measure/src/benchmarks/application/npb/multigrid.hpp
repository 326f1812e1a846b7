// The operators of kernel MG on one block of a periodic grid (RNR-94-007, section 2.2.3). Each stencil weighs
// a point, its 6 neighbors at distance 1, the 12 at distance sqrt(2) and the 8 at distance sqrt(3).
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "benchmarks/application/npb/decomposition.hpp"
#include "benchmarks/application/npb/vectors.hpp"
#include "memory/buffer.hpp"

namespace scope::npb {

using Weights = std::array<double, 4>;  // by distance

constexpr Weights laplacian{-8.0 / 3, 0, 1.0 / 6, 1.0 / 12};
constexpr Weights restriction{1.0 / 2, 1.0 / 4, 1.0 / 8, 1.0 / 16};

// Values at the points of a block, which begins at `begin` of the whole grid, with a halo of neighbors'
// values around them: indices from -1 to size. x is contiguous.
class HaloField {
 public:
  HaloField(const Extents& begin, const Extents& size)
      : begin_(begin), size_(size), values_(static_cast<std::size_t>(count(size)) * sizeof(double)) {}

  static std::int64_t count(const Extents& size) { return (size[0] + 2LL) * (size[1] + 2LL) * (size[2] + 2LL); }

  const Extents& begin() const { return begin_; }
  const Extents& size() const { return size_; }
  bool empty() const { return size_[0] == 0 || size_[1] == 0 || size_[2] == 0; }
  std::ptrdiff_t row() const { return size_[0] + 2; }              // distance from y to y + 1
  std::ptrdiff_t plane() const { return row() * (size_[1] + 2); }  // distance from z to z + 1

  // Point (0, y, z).
  double* at(int y, int z) { return values_.as<double>().data() + (z + 1) * plane() + (y + 1) * row() + 1; }
  const double* at(int y, int z) const { return const_cast<HaloField*>(this)->at(y, z); }
  void clear() { values_.clear(); }
  std::span<const std::byte> bytes() { return values_.bytes(); }

 private:
  Extents begin_;
  Extents size_;
  Buffer values_;
};

// result[x] = value at x, from `begin` to before `end`; `value_at` is called with a function that loads the
// value at x of a row.
template <int lanes, class ValueAt>
SCOPE_INLINE inline void along(double* result, int begin, int end, ValueAt value_at) {
  in_runs<lanes>(begin, end, [&](auto run, int x) SCOPE_INLINE {
    using Real = typename decltype(run)::Real;
    store<Real>(result + x, value_at([x](const double* row) SCOPE_INLINE { return load<Real>(row + x); }));
  });
}

// Sums over the neighbors of a row's points in adjacent rows: `near` over the four rows at distance 1, `far`
// over the four at distance sqrt(2). Indices from -1 to size.
class RowSums {
 public:
  explicit RowSums(int longest) : near_(longest + 2), far_(longest + 2) {}

  template <int lanes>
  SCOPE_INLINE void add_up(const double* at, std::ptrdiff_t row, std::ptrdiff_t plane, int size) {
    const double* const south = at - row;
    const double* const north = at + row;
    const double* const below = at - plane;
    const double* const above = at + plane;
    double* const near = this->near();
    double* const far = this->far();
    along<lanes>(near, -1, size + 1,
                 [=](auto at) SCOPE_INLINE { return (at(south) + at(north)) + (at(below) + at(above)); });
    along<lanes>(far, -1, size + 1, [=](auto at) SCOPE_INLINE {
      return (at(south - plane) + at(south + plane)) + (at(north - plane) + at(north + plane));
    });
  }

  double* near() { return near_.data() + 1; }
  double* far() { return far_.data() + 1; }

 private:
  std::vector<double> near_;
  std::vector<double> far_;
};

// r = v - A u. `v` and `r` may be the same field.
template <int lanes>
SCOPE_INLINE inline void residual(const HaloField& u, const HaloField& v, HaloField& r, RowSums& sums) {
  const auto [nx, ny, nz] = u.size();
  if (u.empty()) return;
  const double* const near = sums.near();
  const double* const far = sums.far();
  for (int z = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      const double* const here = u.at(y, z);
      const double* const source = v.at(y, z);
      double* const result = r.at(y, z);
      sums.add_up<lanes>(here, u.row(), u.plane(), nx);
      along<lanes>(result, 0, nx, [=](auto at) SCOPE_INLINE {
        return at(source) - laplacian[0] * at(here) - laplacian[2] * (at(far) + (at(near - 1) + at(near + 1))) -
               laplacian[3] * (at(far - 1) + at(far + 1));
      });
    }
  }
}

// u += S r, the smoother, whose weight at distance sqrt(3) is 0.
template <int lanes>
SCOPE_INLINE inline void smooth(const HaloField& r, HaloField& u, const Weights& smoother, RowSums& sums) {
  const auto [nx, ny, nz] = r.size();
  if (r.empty()) return;
  const double* const near = sums.near();
  const double* const far = sums.far();
  for (int z = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      const double* const here = r.at(y, z);
      double* const result = u.at(y, z);
      sums.add_up<lanes>(here, r.row(), r.plane(), nx);
      along<lanes>(result, 0, nx, [=](auto at) SCOPE_INLINE {
        return at(result) + smoother[0] * at(here) + smoother[1] * (at(near) + (at(here - 1) + at(here + 1))) +
               smoother[2] * (at(far) + (at(near - 1) + at(near + 1)));
      });
    }
  }
}

// coarse = P fine. Point J of the coarse grid is point 2 J + 1 of the fine one.
template <int lanes>
SCOPE_INLINE inline void restrict_to(HaloField& coarse, const HaloField& fine, RowSums& sums) {
  const auto [nx, ny, nz] = coarse.size();
  if (coarse.empty()) return;
  const auto first = [&](int d) { return 2 * coarse.begin()[d] + 1 - fine.begin()[d]; };
  const double* const near = sums.near();
  const double* const far = sums.far();
  for (int z = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      const double* const here = fine.at(first(1) + 2 * y, first(2) + 2 * z);
      double* const result = coarse.at(y, z);
      sums.add_up<lanes>(here, fine.row(), fine.plane(), fine.size()[0]);
      for (int x = 0, f = first(0); x < nx; ++x, f += 2) {
        result[x] = restriction[0] * here[f] + restriction[1] * (here[f - 1] + here[f + 1] + near[f]) +
                    restriction[2] * (near[f - 1] + near[f + 1] + far[f]) +
                    restriction[3] * (far[f - 1] + far[f + 1]);
      }
    }
  }
}

enum class Prolongation { set, add };

// fine = Q coarse, or fine += Q coarse, including the halo: trilinear interpolation. `line` holds a coarse row.
template <int lanes>
SCOPE_INLINE inline void prolong(const HaloField& coarse, HaloField& fine, Prolongation how,
                                 std::vector<double>& line) {
  const auto [nx, ny, nz] = fine.size();
  if (fine.empty()) return;
  // A fine coordinate is at coarse J (odd) or between J - 1 and J (even).
  const auto upper = [&](int d, int at) { return ((fine.begin()[d] + at) >> 1) - coarse.begin()[d]; };
  const auto between = [&](int d, int at) { return (fine.begin()[d] + at) % 2 == 0; };
  double* const sum = line.data() + 1;
  for (int z = -1; z <= nz; ++z) {
    for (int y = -1; y <= ny; ++y) {
      const double* const row = coarse.at(upper(1, y), upper(2, z));
      const std::ptrdiff_t south = between(1, y) ? coarse.row() : 0;
      const std::ptrdiff_t below = between(2, z) ? coarse.plane() : 0;
      // The mean of the one, two or four coarse rows around this one.
      const int last = coarse.size()[0];
      if (south == 0 && below == 0) {
        along<lanes>(sum, -1, last + 1, [=](auto at) SCOPE_INLINE { return at(row); });
      } else if (south == 0 || below == 0) {
        along<lanes>(sum, -1, last + 1,
                     [=](auto at) SCOPE_INLINE { return 0.5 * (at(row) + at(row - south - below)); });
      } else {
        along<lanes>(sum, -1, last + 1, [=](auto at) SCOPE_INLINE {
          return 0.25 * ((at(row) + at(row - south)) + (at(row - below) + at(row - south - below)));
        });
      }
      double* const result = fine.at(y, z);
      const bool add = how == Prolongation::add;
      int x = -1;
      const auto put = [&](int at, double value) { result[at] = add ? result[at] + value : value; };
      if (!between(0, x)) {
        put(x, sum[upper(0, x)]);
        ++x;
      }
      for (int c = upper(0, x); x < nx; x += 2, ++c) {
        put(x, 0.5 * (sum[c - 1] + sum[c]));
        put(x + 1, sum[c]);
      }
      if (x == nx) put(x, 0.5 * (sum[upper(0, x) - 1] + sum[upper(0, x)]));
    }
  }
}

// Sum over the points of the block.
inline double sum_of_squares(const HaloField& field) {
  const auto [nx, ny, nz] = field.size();
  double sums[4] = {0, 0, 0, 0};
  for (int z = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      const double* const here = field.at(y, z);
      int x = 0;
      for (; x + 4 <= nx; x += 4)
        for (int lane = 0; lane < 4; ++lane) sums[lane] += here[x + lane] * here[x + lane];
      for (; x < nx; ++x) sums[0] += here[x] * here[x];
    }
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace scope::npb
