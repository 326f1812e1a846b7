// Legendre transforms along latitudes that a column of processes shares: by transposition, so that every
// process has some wave numbers on all latitudes, or by sums over the processes, either at once (allreduce)
// or block by block round a ring (Worley & Foster 1994; Foster & Worley 1997, SIAM J. Sci. Comput. 18,
// 806-837).
#pragma once

#include "benchmarks/application/shallow_water/decomposition.hpp"
#include "benchmarks/application/shallow_water/exchange.hpp"
#include "benchmarks/application/shallow_water/legendre_transform.hpp"
#include "memory/large_pages.hpp"

namespace scope::shallow_water {

// Fourier coefficients of all wave numbers of the column on the own pairs of latitudes, as in `LegendreTransform`,
// and spectral coefficients of `Decomposition::own_wavenumbers`, 2 `values` doubles each.
class LatitudeTransform {
 public:
  LatitudeTransform(const Decomposition& decomposition, const LegendreTransform& table, int values,
                    Exchange& exchange);

  void analyse(const double* fourier, double* spectral);
  void synthesize(const double* spectral, double* fourier);

  // What a `LegendreTransform` for these methods needs: wave numbers and bands of latitudes.
  static std::vector<int> tabulated_wavenumbers(const Decomposition& decomposition);
  static std::vector<Range> tabulated_bands(const Decomposition& decomposition);

  // Floating point operations of either, of all processes together.
  static double flops(const Resolution& resolution, int values);

 private:
  void analyse_transposed(const double* fourier, double* spectral);
  void analyse_at_once(const double* fourier, double* spectral);
  void analyse_round_ring(const double* fourier, double* spectral);
  void synthesize_transposed(const double* spectral, double* fourier);
  void synthesize_round_ring(const double* spectral, double* fourier);

  // The size of one block of the column's wave numbers.
  std::ptrdiff_t spectral_size(int block) const;
  const double* fourier_of(const double* fourier, int block) const;

  const Decomposition& decomposition_;
  const LegendreTransform& table_;
  Exchange& exchange_;
  int width_;
  Range pairs_;
  std::optional<Transposition> to_latitudes_;    // Fourier coefficients of own wave numbers on all latitudes
  std::optional<Transposition> from_latitudes_;  // and back
  LargeArray on_all_latitudes_;
  std::vector<double> traveling_;  // the blocks of a ring
  std::vector<double> arriving_;
  std::vector<double> share_;  // of this process in the sums of a block
};

}  // namespace scope::shallow_water
