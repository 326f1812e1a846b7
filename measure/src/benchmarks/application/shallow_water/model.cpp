#include "benchmarks/application/shallow_water/model.hpp"

#include <limits>

#include "benchmarks/application/shallow_water/legendre.hpp"

namespace scope::shallow_water {
namespace {

constexpr double a = earth::radius;

// At T42: 20 minutes, and hyperdiffusion that damps the shortest wave by a factor e in 28 hours. Both are scaled
// with the shortest wave of other truncations, so that Courant number and damping stay the same.
constexpr double time_step_at_t42_s = 1200;
constexpr double diffusion_at_t42 = 5e15;  // m^4/s
// Coefficient of the filter that couples odd and even time steps (Robert 1966; Asselin 1972, Mon. Weather
// Rev. 100).
constexpr double filter = 0.05;

constexpr double flops_of_products = 13;  // per point and level
constexpr double flops_of_advance = 58;   // per level and real or imaginary part of a coefficient

// Indices of the fields in the state.
constexpr int vorticity = 0;
constexpr int divergence = 1;
constexpr int depth = 2;

double square(double x) { return x * x; }

}  // namespace

Model::Model(const Decomposition& decomposition, const TestCase& test_case, int levels, npb::Width width,
             Exchange& exchange)
    : decomposition_(decomposition),
      test_case_(test_case),
      exchange_(exchange),
      levels_(levels),
      width_(width),
      pairs_(decomposition.pairs()),
      longitudes_(decomposition.longitudes()),
      time_step_s_(time_step_at_t42_s * 42 / decomposition.resolution().truncation),
      // The known steady and moving solutions solve the equations without diffusion.
      diffuses_(!test_case.has_solution()),
      quadrature_(gauss_legendre(decomposition.resolution().latitudes)),
      table_(quadrature_, decomposition.resolution().truncation,
             LatitudeTransform::tabulated_wavenumbers(decomposition),
             LatitudeTransform::tabulated_bands(decomposition), width),
      bands_(LongitudeTransform::bands(decomposition)),
      longitude_read_(decomposition, quadrature_, read_fields * levels, width, exchange),
      latitude_read_(decomposition, table_, read_fields * levels, exchange),
      longitude_written_(decomposition, quadrature_, written_fields * levels, width, exchange),
      latitude_written_(decomposition, table_, written_fields * levels, exchange) {
  make_harmonics();
  make_grid();
}

std::vector<int> Model::own_wavenumbers() const {
  const auto& all = decomposition_.wavenumbers();
  const Range own = decomposition_.own_wavenumbers();
  return {all.begin() + own.begin, all.begin() + own.end};
}

// Factors of the winds: U_n = a (-i m/(n (n+1)) delta_n + epsilon_{n+1}/(n+1) zeta_{n+1} - epsilon_n/n
// zeta_{n-1}), and V_n with zeta and -delta for delta and zeta. They follow from U = (1/a) (d chi/d longitude
// - (1 - mu^2) d psi/d mu) with zeta = Laplace(psi) and delta = Laplace(chi), and the recurrence of (1 -
// mu^2) dP_n/dmu (Temperton 1991, Mon. Weather Rev. 119, 1303-1307): transforms do not need derivatives of
// Legendre functions, but one more degree.
void Model::make_harmonics() {
  const int truncation = decomposition_.resolution().truncation;
  const double diffusion = diffusion_at_t42 * square(42.0 * 43 / (truncation * (truncation + 1.0)));
  for (const int m : own_wavenumbers()) {
    for (int n = m; n <= truncation + 1; ++n) {
      const double epsilon = recurrence_factor(n, m);
      const double epsilon_up = recurrence_factor(n + 1, m);
      const double laplacian = n * (n + 1.0) / (a * a);
      harmonics_.push_back(
          {.m = m,
           .n = n,
           .laplacian = laplacian,
           .turn = n > 0 ? a * m / (n * (n + 1.0)) : 0,
           .up = a * epsilon_up / (n + 1),
           .down = n > m ? a * epsilon / n : 0,
           .flux_up = n * epsilon_up,
           .flux_down = (n + 1) * epsilon,
           // Solid-body rotation is not damped.
           .damping_of_wind = diffuses_ ? diffusion * (square(laplacian) - square(2 / (a * a))) : 0,
           .damping_of_depth = diffuses_ ? diffusion * square(laplacian) : 0});
    }
  }
}

void Model::make_grid() {
  const std::size_t points = 2 * static_cast<std::size_t>(pairs_.size()) * longitudes_.size();
  // The neighbors of the first and the last coefficient are read too, with a factor of 0.
  const std::size_t coefficients = harmonics_.size() + 2;
  now_.assign(harmonics_.size() * state_width(), 0);
  before_ = now_;
  spectral_read_.assign(coefficients * 2 * read_fields * levels_, 0);
  spectral_written_.assign(coefficients * 2 * written_fields * levels_, 0);
  const Range all = decomposition_.all_wavenumbers();
  fourier_read_.resize(LegendreTransform::fourier_size(all, pairs_, 2 * read_fields * levels_));
  fourier_written_.resize(LegendreTransform::fourier_size(all, pairs_, 2 * written_fields * levels_));
  const std::size_t of_band = number_of_first_point(bands_.front().end) * levels_;
  read_.resize(of_band * read_fields);
  written_.resize(of_band * written_fields);
  coriolis_.resize(points);
  ground_.resize(points);
  std::size_t at = 0;
  for (int pair = 0; pair < pairs_.size(); ++pair) {
    for (int point = 0; point < longitudes_.size(); ++point) {
      for (const int hemisphere : {0, 1}) {
        coriolis_[at] = test_case_.coriolis(longitude(point), latitude(pair, hemisphere));
        ground_[at++] = test_case_.ground(longitude(point), latitude(pair, hemisphere));
      }
    }
  }
}

double Model::latitude(int pair, int hemisphere) const {
  const double north = std::asin(quadrature_.nodes[pairs_.begin + pair]);
  return hemisphere == 0 ? north : -north;
}

double Model::longitude(int point) const {
  return 2 * std::numbers::pi * (longitudes_.begin + point) / decomposition_.resolution().longitudes;
}

// Uses the same transforms as a step does for E, A and B: zeta = T(-V, U) and delta = T(-U, -V).
void Model::start() {
  for (const Range& band : bands_) {
    double* to = written_.data();
    for (int pair = band.begin; pair < band.end; ++pair) {
      const double factor = 1 / (a * (1 - square(quadrature_.nodes[pairs_.begin + pair])));
      for (int point = 0; point < longitudes_.size(); ++point) {
        for (const int hemisphere : {0, 1}) {
          const double north = latitude(pair, hemisphere);
          const Flow flow = test_case_.flow(longitude(point), north, 0);
          const double of_fields[] = {flow.geopotential, -flow.v * std::cos(north) * factor,
                                      flow.u * std::cos(north) * factor, 0, 0};
          for (const double value : of_fields) to = std::fill_n(to, levels_, value);
        }
      }
    }
    longitude_written_.analyse(band, written_.data(), fourier_written_.data());
  }
  analyse_latitudes();
  for (std::size_t k = 0; k < harmonics_.size(); ++k) {
    const Written fields = written(k);
    double* const state = now_.data() + k * state_width();
    const bool kept = harmonics_[k].n <= decomposition_.resolution().truncation;
    for (const int part : {0, 1}) {
      for (int level = 0; level < levels_; ++level) {
        state[(2 * vorticity + part) * levels_ + level] = kept ? fields.flux<double>(1, 1, 2, part, level) : 0;
        state[(2 * divergence + part) * levels_ + level] = kept ? fields.flux<double>(-1, 2, 1, part, level) : 0;
        state[(2 * depth + part) * levels_ + level] = kept ? fields.field<double>(0, part, level) : 0;
      }
    }
  }
  mean_ = 0;
  if (!test_case_.only_advects()) {
    double mean = std::numeric_limits<double>::lowest();
    for (std::size_t k = 0; k < harmonics_.size(); ++k) {
      if (harmonics_[k].n > 0) continue;
      double* const constant = now_.data() + k * state_width() + 2 * depth * levels_;
      mean = constant[0] / std::numbers::sqrt2;  // P_0 is the root of 1/2
      std::fill_n(constant, levels_, 0.0);
    }
    mean_ = decomposition_.world().largest(mean);
  }
  before_ = now_;
  steps_ = 0;
}

void Model::step() {
  synthesize_latitudes();
  for (const Range& band : bands_) {
    longitude_read_.synthesize(band, fourier_read_.data(), read_.data());
    products(band);
    if (test_case_.forced()) add_sources(band);
    longitude_written_.analyse(band, written_.data(), fourier_written_.data());
  }
  analyse_latitudes();
  // The first step begins with a forward half step, so that it does not need an earlier state.
  advance(steps_ == 0 ? time_step_s_ / 2 : time_step_s_, steps_ == 0);
  ++steps_;
}

// Computes zeta, Phi, U and V on latitudes.
void Model::synthesize_latitudes() {
  const std::ptrdiff_t width = 2 * read_fields * static_cast<std::ptrdiff_t>(levels_);
  const std::ptrdiff_t wide = state_width();
  npb::in_lanes(width_, [&]<int lanes>() SCOPE_INLINE {
    for (std::size_t k = 0; k < harmonics_.size(); ++k) {
      const Harmonic& h = harmonics_[k];
      const double* const here = now_.data() + k * wide;
      // If there is no such neighbor, the factor is 0.
      const double* const above = k + 1 < harmonics_.size() ? here + wide : here;
      const double* const below = k > 0 ? here - wide : here;
      const double up = h.n < decomposition_.resolution().truncation ? h.up : 0;
      double* to = spectral_read_.data() + (k + 1) * width;
      for (const int part : {0, 1}) {
        const std::ptrdiff_t zeta = (2 * vorticity + part) * levels_;
        const std::ptrdiff_t delta = (2 * divergence + part) * levels_;
        const std::ptrdiff_t phi = (2 * depth + part) * levels_;
        const std::ptrdiff_t other_zeta = (2 * vorticity + 1 - part) * levels_;
        const std::ptrdiff_t other_delta = (2 * divergence + 1 - part) * levels_;
        const double turn = part == 0 ? h.turn : -h.turn;  // -i m times the other part
        npb::in_runs<lanes>(0, levels_, [&](auto run, int level) SCOPE_INLINE {
          using Real = typename decltype(run)::Real;
          const auto at = [&](const double* from) SCOPE_INLINE { return npb::load<Real>(from + level); };
          npb::store<Real>(to + level, at(here + zeta));
          npb::store<Real>(to + levels_ + level, at(here + phi));
          npb::store<Real>(to + 2 * levels_ + level,
                           turn * at(here + other_delta) + up * at(above + zeta) - h.down * at(below + zeta));
          npb::store<Real>(to + 3 * levels_ + level,
                           turn * at(here + other_zeta) - up * at(above + delta) + h.down * at(below + delta));
        });
        to += read_fields * levels_;
      }
    }
  });
  latitude_read_.synthesize(spectral_read_.data() + width, fourier_read_.data());
}

void Model::analyse_latitudes() {
  latitude_written_.analyse(fourier_written_.data(),
                            spectral_written_.data() + 2 * written_fields * static_cast<std::ptrdiff_t>(levels_));
}

// Computes E, A, B, C and D, the last four divided by a (1 - mu^2).
void Model::products(Range band) {
  npb::in_lanes(width_, [&]<int lanes>() SCOPE_INLINE {
    const double* from = read_.data();
    double* to = written_.data();
    std::size_t number = number_of_first_point(band.begin);
    for (int pair = band.begin; pair < band.end; ++pair) {
      const double factor = 1 / (a * (1 - square(quadrature_.nodes[pairs_.begin + pair])));
      const double half = factor * a / 2;
      for (int point = 0; point < 2 * longitudes_.size(); ++point, ++number) {
        const double f = coriolis_[number];
        const double ground = ground_[number];
        npb::in_runs<lanes>(0, levels_, [&](auto run, int level) SCOPE_INLINE {
          using Real = typename decltype(run)::Real;
          const Real eta = npb::load<Real>(from + level) + f;
          const Real phi = npb::load<Real>(from + levels_ + level);
          const Real u = npb::load<Real>(from + 2 * levels_ + level);
          const Real v = npb::load<Real>(from + 3 * levels_ + level);
          const Real u_scaled = factor * u;
          const Real v_scaled = factor * v;
          npb::store<Real>(to + level, half * (u * u + v * v) + ground);
          npb::store<Real>(to + levels_ + level, u_scaled * eta);
          npb::store<Real>(to + 2 * levels_ + level, v_scaled * eta);
          npb::store<Real>(to + 3 * levels_ + level, u_scaled * phi);
          npb::store<Real>(to + 4 * levels_ + level, v_scaled * phi);
        });
        from += read_fields * levels_;
        to += written_fields * levels_;
      }
    }
  });
}

void Model::add_sources(Range band) {
  std::vector<Sources> of_latitude(longitudes_.size());
  const double spacing = 2 * std::numbers::pi / decomposition_.resolution().longitudes;
  for (int pair = band.begin; pair < band.end; ++pair) {
    const double factor = 1 / (a * (1 - square(quadrature_.nodes[pairs_.begin + pair])));
    for (const int hemisphere : {0, 1}) {
      test_case_.sources(latitude(pair, hemisphere), longitude(0), spacing, longitudes_.size(), time_s(), mean_,
                         of_latitude.data());
      for (int point = 0; point < longitudes_.size(); ++point) {
        const Sources& from = of_latitude[point];
        const double added[] = {from.energy, factor * from.a, factor * from.b, factor * from.c, factor * from.d};
        double* to = written_.data() +
                     (number_of_first_point(pair) - number_of_first_point(band.begin) + 2 * point + hemisphere) *
                         written_fields * levels_;
        for (const double value : added)
          for (int level = 0; level < levels_; ++level) *to++ += value;
      }
    }
  }
}

// Advances from the previous state to the next one, 2 `span_s` later, by a semi-implicit leapfrog (Hoskins &
// Simmons 1975, Quart. J. Roy. Meteor. Soc. 101, 637-655; Hack & Jakob 1992, section 5.c): the terms of gravity
// waves, Laplace(Phi) and mean delta, are means of both states.
void Model::advance(double span_s, bool first) {
  const bool advects = test_case_.only_advects();
  const double two = 2 * span_s;
  npb::in_lanes(width_, [&]<int lanes>() SCOPE_INLINE {
    for (std::size_t k = 0; k < harmonics_.size(); ++k) {
      const Harmonic& h = harmonics_[k];
      if (h.n > decomposition_.resolution().truncation) continue;
      const Written fields = written(k);
      double* const now = now_.data() + k * state_width();
      double* const before = before_.data() + k * state_width();
      const double implicit = 1 / (1 + square(span_s) * h.laplacian * mean_);
      const double kept_wind = 1 / (1 + two * h.damping_of_wind);
      const double kept_depth = 1 / (1 + two * h.damping_of_depth);
      for (const int part : {0, 1}) {
        npb::in_runs<lanes>(0, levels_, [&](auto run, int level) SCOPE_INLINE {
          using Real = typename decltype(run)::Real;
          const auto flux = [&](double sign, int x, int y)
                                SCOPE_INLINE { return fields.flux<Real>(sign, x, y, part, level); };
          const std::ptrdiff_t zeta = (2 * vorticity + part) * levels_ + level;
          const std::ptrdiff_t delta = (2 * divergence + part) * levels_ + level;
          const std::ptrdiff_t phi = (2 * depth + part) * levels_ + level;
          const Real delta_before = npb::load<Real>(before + delta);
          const Real phi_before = npb::load<Real>(before + phi);
          Real zeta_after = npb::load<Real>(before + zeta);
          Real delta_after = delta_before;
          Real phi_after = phi_before + two * flux(1, 3, 4);
          if (!advects) {
            zeta_after += two * flux(1, 1, 2);
            const Real explicit_delta =
                delta_before + two * (flux(-1, 2, 1) + h.laplacian * fields.field<Real>(0, part, level));
            delta_after =
                implicit *
                (explicit_delta + span_s * h.laplacian * (phi_before + phi_after - span_s * mean_ * delta_before));
            phi_after -= span_s * mean_ * (delta_before + delta_after);
          }
          const auto shift = [&](std::ptrdiff_t field, const Real& after) SCOPE_INLINE {
            const Real here = npb::load<Real>(now + field);
            const Real earlier = npb::load<Real>(before + field);
            npb::store<Real>(before + field, first ? here : here + filter * (earlier - 2 * here + after));
            npb::store<Real>(now + field, after);
          };
          shift(zeta, kept_wind * zeta_after);
          shift(delta, kept_wind * delta_after);
          shift(phi, kept_depth * phi_after);
        });
      }
    }
  });
}

Diagnosis Model::diagnose() {
  synthesize_latitudes();
  // Mean squares of error and solution, for geopotential and wind; then integrals.
  std::array<double, 7> sums{};
  std::size_t number = 0;
  for (const Range& band : bands_) {
    longitude_read_.synthesize(band, fourier_read_.data(), read_.data());
    const double* from = read_.data();
    for (int pair = band.begin; pair < band.end; ++pair) {
      const double weight =
          quadrature_.weights[pairs_.begin + pair] / (2.0 * decomposition_.resolution().longitudes);
      for (int point = 0; point < longitudes_.size(); ++point) {
        for (const int hemisphere : {0, 1}) {
          const double north = latitude(pair, hemisphere);
          const double cosine = std::cos(north);
          const double phi = mean_ + from[levels_];
          const double u = from[2 * levels_] / cosine;
          const double v = from[3 * levels_] / cosine;
          if (test_case_.has_solution() || steps_ == 0) {
            const Flow right = test_case_.flow(longitude(point), north, time_s());
            sums[0] += weight * square(phi - right.geopotential);
            sums[1] += weight * square(right.geopotential);
            sums[2] += weight * (square(u - right.u) + square(v - right.v));
            sums[3] += weight * (square(right.u) + square(right.v));
          }
          const double eta = from[0] + coriolis_[number];
          sums[4] += weight * phi;
          sums[5] += weight * (phi * (u * u + v * v) / 2 + phi * phi / 2 + phi * ground_[number]);
          // If the depth may be 0, there is no enstrophy.
          if (!test_case_.only_advects()) sums[6] += weight * eta * eta / (2 * phi);
          ++number;
          from += read_fields * levels_;
        }
      }
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM,
                decomposition_.world().handle());
  const auto relative = [](double error, double solution) {
    return solution > 0 ? std::sqrt(error / solution) : 0;
  };
  return {relative(sums[0], sums[1]), relative(sums[2], sums[3]), sums[4], sums[5], sums[6]};
}

double Model::flops(const Resolution& resolution, int levels) {
  const double points = static_cast<double>(resolution.longitudes) * resolution.latitudes;
  const double parts = (resolution.truncation + 1.0) * (resolution.truncation + 2.0);
  return LongitudeTransform::flops(resolution, read_fields * levels) +
         LongitudeTransform::flops(resolution, written_fields * levels) +
         LatitudeTransform::flops(resolution, read_fields * levels) +
         LatitudeTransform::flops(resolution, written_fields * levels) +
         levels * (flops_of_products * points + flops_of_advance * parts);
}

std::int64_t Model::bytes(const Decomposition& decomposition, int levels, const Exchange& exchange) {
  const std::int64_t points =
      2 * static_cast<std::int64_t>(decomposition.pairs().size()) * decomposition.longitudes().size();
  // Sent data are twice in shared memory, because slots have two halves.
  const std::int64_t of_slots =
      exchange.shares_memory() ? points * 4 * (read_fields + written_fields) * levels : 0;
  return bytes_of(decomposition.resolution(), points, levels) +
         static_cast<std::int64_t>(sizeof(double)) * of_slots;
}

std::int64_t Model::bytes_alone(const Resolution& resolution, int levels) {
  return bytes_of(resolution, static_cast<std::int64_t>(resolution.latitudes) * resolution.longitudes, levels);
}

std::int64_t Model::bytes_of(const Resolution& resolution, std::int64_t points, int levels) {
  const std::int64_t coefficients =
      (resolution.truncation + 1) * (resolution.truncation + 4) / 2 + resolution.truncation;
  // Both grids, and the same again for messages of both transforms; Fourier coefficients are two thirds of a grid.
  const std::int64_t of_grid = points * (4 * (read_fields + written_fields) * levels + 3);
  const std::int64_t of_spectrum = coefficients * (12 + 4 * (read_fields + written_fields)) * levels;
  const std::int64_t of_tables = coefficients * (resolution.pairs() + 9);
  return static_cast<std::int64_t>(sizeof(double)) * (of_grid + of_spectrum + of_tables);
}

}  // namespace scope::shallow_water
