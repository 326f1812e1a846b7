// The Legendre transforms of some wave numbers between some pairs of latitudes and spectral coefficients, which
// are products of small matrices (Hack & Jakob 1992, sections 5.a and 5.d).
//
// A latitude and its mirror image share one Legendre function: even n - m need the sum of both, odd n - m the
// difference.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "benchmarks/application/npb/vectors.hpp"
#include "benchmarks/application/shallow_water/legendre.hpp"
#include "benchmarks/application/shallow_water/quadrature.hpp"
#include "memory/large_pages.hpp"

namespace scope::shallow_water {

// Includes `begin`, excludes `end`.
struct Range {
  int begin;
  int end;

  int size() const { return end - begin; }
};

using npb::each;

using npb::load;

using npb::store;

// Functions of high m vanish towards the poles: below this limit they do not change sums, but would slow them
// down as denormal numbers.
constexpr double negligible = 1e-100;

// Four pairs in two or three vectors each: eight independent sums hide the latency of additions; twelve sums and
// their operands fill sixteen registers if products do not need registers of their own.
constexpr int pairs_together = 4;

template <int lanes>
constexpr int vectors_together = lanes > 2 ? 3 : 2;

// Calls job<pairs>(first) for groups of all `count` pairs. The functions of a group are adjacent.
template <class Job>
SCOPE_INLINE inline void in_groups(int count, Job&& job) {
  int pair = 0;
  for (; pair + pairs_together <= count; pair += pairs_together) job.template operator()<pairs_together>(pair);
  for (; pair + 2 <= count; pair += 2) job.template operator()<2>(pair);
  for (; pair < count; ++pair) job.template operator()<1>(pair);
}

// Calls job<vectors, Real>(first column) for blocks of all columns. The last vector ends with the last column and
// may overlap the previous vector; both are then in one block, which adds to their columns once. Vectors of two do
// not overlap, since columns are real and imaginary parts.
template <int lanes, class Job>
SCOPE_INLINE inline void in_vectors(int columns, Job&& job) {
  using Real = typename npb::Vector<lanes>::Type;
  constexpr int together = vectors_together<lanes>;
  int column = 0;
  if (columns < lanes) {
    for (; column < columns; ++column) job.template operator()<1, double>(column);
    return;
  }
  int left = (columns + lanes - 1) / lanes;
  for (; left >= together && left != together + 1; left -= together, column += together * lanes)
    job.template operator()<together, Real>(column);
  for (; left >= 2; left -= 2, column += 2 * lanes) job.template operator()<2, Real>(column);
  if (left == 1) job.template operator()<1, Real>(column);
}

// Some pairs of latitudes, and one parity of a wave number: functions P_n at the pairs, `columns` values for each
// pair and, `spectral_row` apart, `columns` values for each n. Functions are read in the order of storage.
template <class Fourier, class Spectral>
struct Band {
  const double* functions;
  int degrees;
  Fourier* fourier;
  Spectral* spectral;
  std::ptrdiff_t spectral_row;
  int columns;

  template <int lanes, int vectors>
  SCOPE_INLINE void find_columns(int first, int (&column)[vectors]) const {
    each<vectors>([&](auto v) SCOPE_INLINE { column[v] = std::min(first + v * lanes, columns - lanes); });
  }

  // fourier[pair] = sum over n of P_n spectral[n]
  template <int pairs, int vectors, class Real>
  SCOPE_INLINE void synthesize(int pair, int first) const {
    int column[vectors];
    find_columns<npb::lanes_of<Real>>(first, column);
    Real sums[pairs][vectors] = {};
    const double* function = functions + static_cast<std::ptrdiff_t>(pair) * degrees;
    const double* from = spectral;
    for (int n = 0; n < degrees; ++n, function += pairs, from += spectral_row) {
      Real values[vectors];
      each<vectors>([&](auto v) SCOPE_INLINE { values[v] = load<Real>(from + column[v]); });
      each<pairs>([&](auto p) SCOPE_INLINE {
        each<vectors>([&](auto v) SCOPE_INLINE { sums[p][v] += function[p] * values[v]; });
      });
    }
    double* const to = fourier + static_cast<std::ptrdiff_t>(pair) * columns;
    each<pairs>([&](auto p) SCOPE_INLINE {
      each<vectors>([&](auto v) SCOPE_INLINE { store(to + p * columns + column[v], sums[p][v]); });
    });
  }

  // spectral[n] += sum over pairs of P_n fourier[pair]
  template <int pairs, int vectors, class Real>
  SCOPE_INLINE void analyse(int pair, int first) const {
    int column[vectors];
    find_columns<npb::lanes_of<Real>>(first, column);
    Real values[pairs][vectors];
    const double* const from = fourier + static_cast<std::ptrdiff_t>(pair) * columns;
    each<pairs>([&](auto p) SCOPE_INLINE {
      each<vectors>([&](auto v) SCOPE_INLINE { values[p][v] = load<Real>(from + p * columns + column[v]); });
    });
    const double* function = functions + static_cast<std::ptrdiff_t>(pair) * degrees;
    double* to = spectral;
    for (int n = 0; n < degrees; ++n, function += pairs, to += spectral_row) {
      Real sums[vectors];
      each<vectors>([&](auto v) SCOPE_INLINE { sums[v] = load<Real>(to + column[v]); });
      each<pairs>([&](auto p) SCOPE_INLINE {
        each<vectors>([&](auto v) SCOPE_INLINE { sums[v] += function[p] * values[p][v]; });
      });
      each<vectors>([&](auto v) SCOPE_INLINE { store(to + column[v], sums[v]); });
    }
  }
};

// Layout of the data of one wave number m if `width` doubles are transformed together:
// - spectral coefficients: for each degree n = m ... truncation + 1, `width` doubles;
// - Fourier coefficients: for the even and then the odd part, and for each pair of latitudes, `width`
//   doubles.
class LegendreTransform {
 public:
  // Tabulates all `wavenumbers` on the pairs of latitudes in `bands`, which follow one another. The pairs of a
  // band are transformed together.
  LegendreTransform(const Quadrature& quadrature, int truncation, std::vector<int> wavenumbers,
                    const std::vector<Range>& bands, npb::Width width)
      : truncation_(truncation),
        wavenumbers_(std::move(wavenumbers)),
        pairs_{bands.front().begin, bands.back().end},
        width_(width) {
    coefficients_before_.push_back(0);
    std::ptrdiff_t size = 0;
    for (std::size_t index = 0; index < wavenumbers_.size(); ++index) {
      const auto i = static_cast<int>(index);
      coefficients_before_.push_back(coefficients_before_.back() + degrees(i));
      for (const int parity : {0, 1}) {
        begins_.push_back(size);
        size += static_cast<std::ptrdiff_t>(degrees(i, parity)) * pairs_.size();
      }
    }
    functions_.resize(size);
    for (std::size_t index = 0; index < wavenumbers_.size(); ++index) {
      for (const Range& band : bands) {
        in_groups(band.size(), [&]<int pairs>(int first) {
          for (int pair = 0; pair < pairs; ++pair)
            tabulate(static_cast<int>(index), quadrature.nodes[band.begin + first + pair], pairs,
                     band.begin + first, pair);
        });
      }
    }
  }

  const std::vector<int>& wavenumbers() const { return wavenumbers_; }
  int degrees(int index) const { return truncation_ + 2 - wavenumbers_[index]; }
  // Number of doubles in the spectral coefficients of a range of wave numbers, which follow one another.
  std::ptrdiff_t spectral_size(Range indices, int width) const {
    return (coefficients_before_[indices.end] - coefficients_before_[indices.begin]) * width;
  }
  static std::ptrdiff_t fourier_size(Range indices, Range pairs, int width) {
    return 2 * static_cast<std::ptrdiff_t>(indices.size()) * pairs.size() * width;
  }

  // Adds the contribution of one of the bands to the spectral coefficients of the wave numbers in `indices`:
  // S_n += sum over pairs of P_n (sum or difference of both hemispheres), which must be already weighted.
  // `fourier` and `spectral` begin with the first of `indices` and do not contain data of other bands.
  void analyse(Range indices, Range band, const double* fourier, double* spectral, int width) const {
    in_bands(indices, band, fourier, spectral, width,
             []<int pairs, int vectors, class Real>(const auto& here, int pair, int first)
                 SCOPE_INLINE { here.template analyse<pairs, vectors, Real>(pair, first); });
  }

  // F = sum over n of S_n P_n, for the even and the odd part of each pair of latitudes.
  void synthesize(Range indices, Range band, const double* spectral, double* fourier, int width) const {
    in_bands(indices, band, fourier, spectral, width,
             []<int pairs, int vectors, class Real>(const auto& here, int pair, int first)
                 SCOPE_INLINE { here.template synthesize<pairs, vectors, Real>(pair, first); });
  }

  // Number of multiplications and additions of one transform.
  double flops(Range indices, Range pairs, int width) const {
    return 2.0 * static_cast<double>(spectral_size(indices, width)) * pairs.size();
  }
  // Size of the tabulated functions in bytes.
  std::size_t bytes() const { return functions_.size() * sizeof(double); }

 private:
  int degrees(int index, int parity) const { return (degrees(index) + 1 - parity) / 2; }
  // Index in `functions_` of P_n for n = m + parity, m + parity + 2, ... at the first pair of a band or group.
  std::ptrdiff_t begin(int index, int parity, int pair) const {
    return begins_[2 * static_cast<std::size_t>(index) + parity] +
           static_cast<std::ptrdiff_t>(pair - pairs_.begin) * degrees(index, parity);
  }
  // Does `work` on every wave number and parity in one of the bands.
  // It is called as work<pairs, vectors, Real>(Band of a wave number and parity, pair, first column).
  template <class Fourier, class Spectral, class Work>
  void in_bands(Range indices, Range band, Fourier* fourier, Spectral* spectral, int width, Work work) const {
    npb::in_lanes(width_, [&]<int lanes>() SCOPE_INLINE {
      for (int index = indices.begin; index < indices.end; ++index) {
        for (const int parity : {0, 1}) {
          const Band<Fourier, Spectral> here{functions_.data() + begin(index, parity, band.begin),
                                             degrees(index, parity),
                                             fourier,
                                             spectral + parity * width,
                                             2 * static_cast<std::ptrdiff_t>(width),
                                             width};
          in_groups(band.size(), [&]<int pairs>(int pair) SCOPE_INLINE {
            in_vectors<lanes>(width, [&]<int vectors, class Real>(int first) SCOPE_INLINE {
              work.template operator()<pairs, vectors, Real>(here, pair, first);
            });
          });
          fourier += static_cast<std::ptrdiff_t>(band.size()) * width;
        }
        spectral += static_cast<std::ptrdiff_t>(degrees(index)) * width;
      }
    });
  }
  // Stores the values of one pair in a group of `pairs`, which begins with `first`.
  void tabulate(int index, double node, int pairs, int first, int pair) {
    const auto values = legendre_functions(wavenumbers_[index], truncation_ + 1, node);
    for (const int parity : {0, 1}) {
      double* to = functions_.data() + begin(index, parity, first) + pair;
      for (std::size_t n = parity; n < values.size(); n += 2, to += pairs)
        *to = std::abs(values[n]) < negligible ? 0 : values[n];
    }
  }

  int truncation_;
  std::vector<int> wavenumbers_;
  Range pairs_;
  npb::Width width_;
  std::vector<std::ptrdiff_t> coefficients_before_;  // by wave number
  std::vector<std::ptrdiff_t> begins_;               // by wave number and parity, in `functions_`
  // The values at all pairs of a group, by wave number, parity, group of up to four pairs, and n.
  LargeArray functions_;
};

}  // namespace scope::shallow_water
