// The shallow water equations on the rotating sphere by the spectral transform method, in vorticity and
// divergence: Hack & Jakob 1992, NCAR/TN-343+STR.
//
// Prognostic variables are the relative vorticity zeta, the divergence delta and the geopotential Phi of the
// fluid's depth, less its mean, in several independent levels. With U = u cos(latitude), V = v cos(latitude), eta
// = zeta + f, mu = sin(latitude) and T(X, Y) = -1/(a (1 - mu^2)) dX/dlongitude - 1/a dY/dmu:
//   d zeta/dt  = T(A, B)                                    A = U eta, B = V eta
//   d delta/dt = T(-B, A) - Laplace(E + Phi)                E = (U^2 + V^2)/(2 (1 - mu^2)) + ground
//   d Phi/dt   = T(C, D) - mean delta                       C = U Phi, D = V Phi
#pragma once

#include "benchmarks/application/shallow_water/decomposition.hpp"
#include "benchmarks/application/shallow_water/exchange.hpp"
#include "benchmarks/application/shallow_water/latitude_transform.hpp"
#include "benchmarks/application/shallow_water/legendre_transform.hpp"
#include "benchmarks/application/shallow_water/longitude_transform.hpp"
#include "benchmarks/application/shallow_water/quadrature.hpp"
#include "benchmarks/application/shallow_water/test_case.hpp"
#include "memory/large_pages.hpp"

namespace scope::shallow_water {

// The state of the first level: errors against the solution of the test case, if known, and integrals over the
// sphere.
struct Diagnosis {
  double height_error;  // RMS of the geopotential's error over RMS of the geopotential
  double wind_error;
  double mass;
  double energy;
  double enstrophy;  // potential enstrophy enstrophy
};

class Model {
 public:
  Model(const Decomposition& decomposition, const TestCase& test_case, int levels, npb::Width width,
        Exchange& exchange);

  // Sets the initial state. Collective, like all functions below.
  void start();
  void step();
  Diagnosis diagnose();

  double time_s() const { return steps_ * time_step_s_; }

  // zeta, delta and Phi of this process's wave numbers, for each degree m ... truncation + 1, the last of which
  // is 0: for each of the fields, the real parts in all levels, then the imaginary parts.
  std::vector<double>& state() { return now_; }
  const std::vector<double>& state() const { return now_; }
  int levels() const { return levels_; }
  // Number of doubles for one degree of a wave number in `state`.
  std::ptrdiff_t state_width() const { return 6 * static_cast<std::ptrdiff_t>(levels_); }
  // The wave numbers of `state`, in the same order.
  std::vector<int> own_wavenumbers() const;

  // Number of floating-point operations of a step, for all processes together, if no work is done twice.
  static double flops(const Resolution& resolution, int levels);
  // Maximum number of bytes that this process, or a single process, allocates.
  static std::int64_t bytes(const Decomposition& decomposition, int levels, const Exchange& exchange);
  static std::int64_t bytes_alone(const Resolution& resolution, int levels);

 private:
  static constexpr int read_fields = 4;     // zeta, Phi, U, V
  static constexpr int written_fields = 5;  // E, A, B, C, D

  // One degree n of one of this process's wave numbers m, and its factors.
  struct Harmonic {
    int m;
    int n;
    double laplacian;  // n (n + 1) / a^2: minus the Laplacian's eigenvalue
    // Factors of i m, n + 1 and n - 1 for winds.
    double turn;
    double up;
    double down;
    // Factors for T.
    double flux_up;
    double flux_down;
    double damping_of_wind;   // by diffusion, per s
    double damping_of_depth;  // by diffusion, per s
  };

  // The spectral coefficients of the written fields in one harmonic.
  struct Written {
    const Harmonic& harmonic;
    const double* here;
    std::ptrdiff_t width;  // distance to the next degree
    int levels;

    // The value in one or several levels. `part`: 0 is the real, 1 the imaginary part.
    template <class Real>
    SCOPE_INLINE Real field(int number, int part, int level) const {
      return npb::load<Real>(here + place(number, part, level));
    }
    // T(sign X, Y) of two fields.
    template <class Real>
    SCOPE_INLINE Real flux(double sign, int x, int y, int part, int level) const {
      const double turn = part == 0 ? harmonic.m : -harmonic.m;  // -i m times the other part
      const double* const of_y = here + place(y, part, level);
      return sign * turn * field<Real>(x, 1 - part, level) + harmonic.flux_down * npb::load<Real>(of_y - width) -
             harmonic.flux_up * npb::load<Real>(of_y + width);
    }

   private:
    std::ptrdiff_t place(int number, int part, int level) const {
      return (static_cast<std::ptrdiff_t>(part) * written_fields + number) * levels + level;
    }
  };
  Written written(std::size_t harmonic) const {
    const std::ptrdiff_t width = 2 * written_fields * static_cast<std::ptrdiff_t>(levels_);
    return {harmonics_[harmonic], spectral_written_.data() + (static_cast<std::ptrdiff_t>(harmonic) + 1) * width,
            width, levels_};
  }

  static std::int64_t bytes_of(const Resolution& resolution, std::int64_t points, int levels);
  void make_harmonics();
  void make_grid();
  // Transform between spectral and Fourier coefficients of all fields.
  void synthesize_latitudes();
  void analyse_latitudes();
  // Compute on the grid of a band of latitudes.
  void products(Range band);
  void add_sources(Range band);
  void advance(double span_s, bool first);

  // Index of a pair of latitudes in an array of all points of this process.
  std::size_t number_of_first_point(int pair) const {
    return 2 * static_cast<std::size_t>(pair) * longitudes_.size();
  }
  double latitude(int pair, int hemisphere) const;
  double longitude(int point) const;

  const Decomposition& decomposition_;
  const TestCase& test_case_;
  Exchange& exchange_;
  int levels_;
  npb::Width width_;
  Range pairs_;
  Range longitudes_;
  double time_step_s_;
  bool diffuses_;
  Quadrature quadrature_;
  LegendreTransform table_;
  std::vector<Range> bands_;  // processed one after another
  LongitudeTransform longitude_read_;
  LatitudeTransform latitude_read_;
  LongitudeTransform longitude_written_;
  LatitudeTransform latitude_written_;
  std::vector<Harmonic> harmonics_;
  double mean_ = 0;  // of the geopotential
  std::int64_t steps_ = 0;
  std::vector<double> now_;
  std::vector<double> before_;
  // Spectral coefficients for the transforms, Fourier coefficients, and grids of a band.
  LargeArray spectral_read_;
  LargeArray spectral_written_;
  LargeArray fourier_read_;
  LargeArray fourier_written_;
  LargeArray read_;
  LargeArray written_;
  // For each point: f and the ground.
  std::vector<double> coriolis_;
  std::vector<double> ground_;
};

}  // namespace scope::shallow_water
