// Fourier transforms along longitudes that a row of processes shares: by transposition, so that every process
// has whole lines, or distributed, where processes exchange halves of them (Worley & Foster 1994; Foster &
// Worley 1997, SIAM J. Sci. Comput. 18, 806-837).
#pragma once

#include "benchmarks/application/shallow_water/decomposition.hpp"
#include "benchmarks/application/shallow_water/exchange.hpp"
#include "benchmarks/application/shallow_water/fourier_transform.hpp"
#include "benchmarks/application/shallow_water/quadrature.hpp"
#include "memory/large_pages.hpp"

namespace scope::shallow_water {

// With L values in every point, the data of a process are:
// - on the grid, for each own pair of latitudes and own longitude: L values of the northern, L of the
//   southern latitude;
// - Fourier coefficients, for each wave number of the column: the even part (sum of both hemispheres) for
//   each own pair of latitudes, then the odd part (difference), each L real and L imaginary parts.
class LongitudeTransform {
 public:
  LongitudeTransform(const Decomposition& decomposition, const Quadrature& quadrature, int values,
                     npb::Width width, Exchange& exchange);

  // The own pairs of latitudes that are transformed together: one after another, which stay in the cache, where this
  // process has whole lines; otherwise all, so that few messages carry them.
  static std::vector<Range> bands(const Decomposition& decomposition);

  // Fourier coefficients, those of one of the bands, times the quadrature's weight of each latitude. Overwrites
  // the grid, which has nothing of other bands.
  void analyse(Range band, double* grid, double* fourier);
  void synthesize(Range band, const double* fourier, double* grid);

  // Floating point operations of either, of all processes together, where no work is distributed.
  static double flops(const Resolution& resolution, int values);

 private:
  // The Fourier coefficients of some wave numbers of a pair of latitudes, even parts `apart` doubles from odd
  // ones, from and to a complex transform of northern latitude + i southern latitude.
  void split(const double* line, const std::vector<int>& wavenumbers, double weight, double* even,
             std::ptrdiff_t apart) const;
  void join(const double* even, std::ptrdiff_t apart, const std::vector<int>& wavenumbers, double* line) const;
  // Those of one wave number m, from and to those of m and -m.
  template <int lanes>
  void split(const double* positive, const double* negative, double weight, double* even, double* odd) const;
  template <int lanes>
  void join(const double* even, const double* odd, double* positive, double* negative) const;

  std::ptrdiff_t element() const { return 2 * static_cast<std::ptrdiff_t>(values_); }
  double* even_of(double* fourier, int index, int pair) const {
    return fourier + (2 * static_cast<std::ptrdiff_t>(index) * pairs_.size() + pair) * element();
  }
  const double* even_of(const double* fourier, int index, int pair) const {
    return even_of(const_cast<double*>(fourier), index, pair);
  }
  std::ptrdiff_t to_odd() const { return pairs_.size() * element(); }
  double weight(int pair) const;  // of own pair

  void analyse_alone(Range band, const double* grid, double* fourier);
  void synthesize_alone(Range band, const double* fourier, double* grid);
  void analyse_transposed(double* grid, double* fourier);
  void synthesize_transposed(const double* fourier, double* grid);
  void analyse_distributed(double* grid, double* fourier);
  void synthesize_distributed(const double* fourier, double* grid);

  // One stage of a distributed transform, with the process of the row at this distance.
  void butterfly(double* grid, int distance, bool forward);
  void combine(double* grid, Range pairs, int distance);
  void turn(double* grid, int distance, bool forward);

  const Decomposition& decomposition_;
  const Quadrature& quadrature_;
  Exchange& exchange_;
  npb::Width width_;
  int values_;
  Range pairs_;
  Range longitudes_;
  FourierTransform transform_;
  LargeArray spectrum_;  // of a line, in which those beyond the truncation stay 0
  // Transposition: lines between processes, and Fourier coefficients between processes.
  std::optional<Transposition> lines_out_;
  std::optional<Transposition> lines_in_;
  std::optional<Transposition> coefficients_out_;
  std::optional<Transposition> coefficients_in_;
  LargeArray lines_;
  std::vector<double> line_;
  LargeArray packed_;
  LargeArray received_;
  // Distributed transforms.
  std::vector<double> positive_;  // coefficients of m, for each own wave number and pair
  std::vector<double> negative_;  // of -m, to or from the mirrored column
  std::vector<double> mirrored_;
};

}  // namespace scope::shallow_water
