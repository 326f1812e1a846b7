// The Legendre transforms of some wave numbers between some pairs of latitudes and spectral coefficients:
// sums that are products of small matrices (Hack & Jakob 1992, sections 5.a and 5.d).
//
// A latitude and its mirror image share one Legendre function: even n - m need the sum of both, odd n - m the
// difference.
#pragma once

#include <cstddef>
#include <vector>

#include "benchmarks/application/npb/vectors.hpp"
#include "benchmarks/application/shallow_water/quadrature.hpp"
#include "memory/large_pages.hpp"

namespace scope::shallow_water {

// From `begin`, without `end`.
struct Range {
  int begin;
  int end;

  int size() const { return end - begin; }
};

// Data of one wave number m are, where `width` doubles are transformed together:
// - spectral coefficients: for each degree n = m ... truncation + 1, `width` doubles;
// - Fourier coefficients: for the even and then the odd part, and for each pair of latitudes, `width`
//   doubles.
class LegendreTransform {
 public:
  // A table for all `wavenumbers`, on the pairs of latitudes in `bands`, which follow one another: those that are transformed
  // together.
  LegendreTransform(const Quadrature& quadrature, int truncation, std::vector<int> wavenumbers,
                    const std::vector<Range>& bands, npb::Width width);

  const std::vector<int>& wavenumbers() const { return wavenumbers_; }
  int degrees(int index) const { return truncation_ + 2 - wavenumbers_[index]; }
  // Doubles of the spectral coefficients of a range of wave numbers, which follow one another.
  std::ptrdiff_t spectral_size(Range indices, int width) const {
    return (coefficients_before_[indices.end] - coefficients_before_[indices.begin]) * width;
  }
  static std::ptrdiff_t fourier_size(Range indices, Range pairs, int width) {
    return 2 * static_cast<std::ptrdiff_t>(indices.size()) * pairs.size() * width;
  }

  // Adds the contribution of one of the bands to the spectral coefficients of the wave numbers in `indices`:
  // S_n += sum over pairs of P_n (sum or difference of both hemispheres), which are to be weighted already.
  // `fourier` and `spectral` begin with the first of `indices`, and have nothing of other bands.
  void analyse(Range indices, Range band, const double* fourier, double* spectral, int width) const;

  // F = sum over n of S_n P_n, the even and the odd part of each pair of latitudes.
  void synthesize(Range indices, Range band, const double* spectral, double* fourier, int width) const;

  // Multiplications and additions of one of these.
  double flops(Range indices, Range pairs, int width) const {
    return 2.0 * static_cast<double>(spectral_size(indices, width)) * pairs.size();
  }
  // Bytes of the tabulated functions.
  std::size_t bytes() const { return functions_.size() * sizeof(double); }

 private:
  int degrees(int index, int parity) const { return (degrees(index) + 1 - parity) / 2; }
  // Where P_n of n = m + parity, m + parity + 2, ... begin in `functions_`, at the first pair of a band or of a group.
  std::ptrdiff_t begin(int index, int parity, int pair) const {
    return begins_[2 * static_cast<std::size_t>(index) + parity] +
           static_cast<std::ptrdiff_t>(pair - pairs_.begin) * degrees(index, parity);
  }
  // Does some work on every wave number and parity in one of the bands.
  template <class Fourier, class Spectral, class Work>
  void in_bands(Range indices, Range band, Fourier* fourier, Spectral* spectral, int width, Work work) const;
  // The values of one pair in a group of `pairs`, which begins with `first`.
  void tabulate(int index, double node, int pairs, int first, int pair);

  int truncation_;
  std::vector<int> wavenumbers_;
  Range pairs_;
  npb::Width width_;
  std::vector<std::ptrdiff_t> coefficients_before_;  // of each wave number
  std::vector<std::ptrdiff_t> begins_;               // of each wave number and parity, in `functions_`
  // For each wave number, parity, group of up to four pairs and n: the values at all pairs of the group.
  LargeArray functions_;
};

}  // namespace scope::shallow_water
