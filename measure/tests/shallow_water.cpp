#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <stdexcept>

#include "benchmarks/application/shallow_water/fourier_transform.hpp"
#include "benchmarks/application/shallow_water/legendre.hpp"
#include "benchmarks/application/shallow_water/model.hpp"
#include "check.hpp"

using namespace scope::shallow_water;
using scope::Communicator;
using scope::npb::Width;

namespace {

constexpr Resolution t21 = resolution_named("T21");
constexpr Resolution t42 = resolution_named("T42");
const std::array widths = {Width::scalar, scope::npb::widest_vectors()};

double random_value() {
  static std::mt19937 random(7);
  return std::uniform_real_distribution<double>(-1, 1)(random);
}

void quadrature_is_exact_up_to_its_degree() {
  for (const int latitudes : {2, 8, 64, 256}) {
    const Quadrature quadrature = gauss_legendre(latitudes);
    CHECK(quadrature.nodes.size() == static_cast<std::size_t>(latitudes / 2));
    for (const int degree : {0, 2, latitudes, 2 * latitudes - 2}) {
      double sum = 0;
      for (std::size_t j = 0; j < quadrature.nodes.size(); ++j)
        sum += 2 * quadrature.weights[j] * std::pow(quadrature.nodes[j], degree);
      CHECK(std::abs(sum * (degree + 1) / 2 - 1) < 1e-13);
    }
  }
}

void legendre_functions_are_orthonormal() {
  const Quadrature quadrature = gauss_legendre(resolution_named("T170").latitudes);
  for (const int m : {0, 1, 2, 17, 100, 170}) {
    std::vector<std::vector<double>> values;
    for (const double mu : quadrature.nodes) values.push_back(legendre_functions(m, 171, mu));
    for (const int n : {m, (m + 171) / 2, 171}) {
      for (int k = m + (n - m) % 2; k <= 171; k += 2) {
        double sum = 0;
        for (std::size_t j = 0; j < values.size(); ++j)
          sum += 2 * quadrature.weights[j] * values[j][n - m] * values[j][k - m];
        CHECK(std::abs(sum - (n == k ? 1 : 0)) < 1e-12);
      }
    }
  }
}

void legendre_functions_are_those_of_closed_form() {
  const double mu = 0.3;
  const double c = std::sqrt(1 - mu * mu);
  CHECK(std::abs(legendre_functions(0, 2, mu)[2] - std::sqrt(2.5) * (3 * mu * mu - 1) / 2) < 1e-15);
  CHECK(std::abs(legendre_functions(1, 2, mu)[1] - std::sqrt(15.0 / 4) * mu * c) < 1e-15);
  CHECK(std::abs(legendre_functions(2, 2, mu)[0] - std::sqrt(15.0 / 16) * c * c) < 1e-15);
}

void fourier_transforms_are_sums() {
  for (const Width width : widths) {
    for (const int points : {1, 2, 3, 4, 5, 8, 12, 16, 30, 64, 96, 225}) {
      for (const int lines : {1, 3, 4}) {
        std::vector<double> x(2 * static_cast<std::size_t>(points) * lines);
        for (double& value : x) value = random_value();
        FourierTransform transform(points, lines, width);
        const double* const found = transform.forward(x.data());
        const std::vector<double> result(found, found + x.size());
        for (int line = 0; line < lines; ++line) {
          for (int k = 0; k < points; ++k) {
            std::complex<double> sum;
            for (int i = 0; i < points; ++i) {
              const std::complex<double> value(x[(2 * i) * lines + line], x[(2 * i + 1) * lines + line]);
              sum += value * std::polar(1.0, -2 * std::numbers::pi * (static_cast<long>(i) * k % points) / points);
            }
            const std::complex<double> here(result[(2 * k) * lines + line], result[(2 * k + 1) * lines + line]);
            CHECK(std::abs(here - sum) < 1e-14 * points);
          }
        }
        const double* const back = transform.backward(result.data());
        for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::abs(back[i] - points * x[i]) < 1e-14 * points);
      }
    }
  }
  CHECK(scope::testing::thrown([] { FourierTransform(14, 1, Width::scalar); }) ==
        "14 points: the only prime factors allowed are 2, 3 and 5");
}

// Spectral coefficients to the grid and back.
void a_round_trip_changes_nothing(const Communicator& world) {
  for (const Width width : widths) {
    for (const char* name : {"T21", "T42", "T63"}) {
      const Resolution resolution = resolution_named(name);
      constexpr int values = 3;
      Exchange exchange(Exchange::Way::blocking);
      const Decomposition decomposition(resolution, world, 0, {});
      const Quadrature quadrature = gauss_legendre(resolution.latitudes);
      const LegendreTransform table(quadrature, resolution.truncation, decomposition.wavenumbers(),
                                    {decomposition.pairs()}, width);
      LongitudeTransform longitudes(decomposition, quadrature, values, width, exchange);
      LatitudeTransform latitudes(decomposition, table, values, exchange);
      const Range all = decomposition.all_wavenumbers();
      std::vector<double> spectral(table.spectral_size(all, 2 * values));
      double* to = spectral.data();
      for (const int m : decomposition.wavenumbers()) {
        for (int n = m; n <= resolution.truncation + 1; ++n) {
          // Real fields have no imaginary part where m is 0.
          for (int value = 0; value < values; ++value) to[value] = random_value();
          for (int value = 0; value < values; ++value) to[values + value] = m == 0 ? 0 : random_value();
          to += 2 * values;
        }
      }
      std::vector<double> fourier(LegendreTransform::fourier_size(all, decomposition.pairs(), 2 * values));
      latitudes.synthesize(spectral.data(), fourier.data());
      const auto bands = LongitudeTransform::bands(decomposition);
      std::vector<double> grid(2 * static_cast<std::size_t>(bands.front().size()) * resolution.longitudes *
                               values);
      for (const Range& band : bands) {
        longitudes.synthesize(band, fourier.data(), grid.data());
        longitudes.analyse(band, grid.data(), fourier.data());
      }
      std::vector<double> back(spectral.size());
      latitudes.analyse(fourier.data(), back.data());
      double error = 0;
      for (std::size_t i = 0; i < back.size(); ++i) error = std::max(error, std::abs(back[i] - spectral[i]));
      CHECK(error <= 1e-12);
    }
  }
}

struct Run {
  Run(const char* case_name, const Resolution& resolution, int levels, const Communicator& world)
      : test_case(TestCase::named(case_name)),
        decomposition(resolution, world, 0, {}),
        model(decomposition, *test_case, levels, scope::npb::widest_vectors(), exchange) {
    model.start();
  }

  // After so many days.
  Diagnosis after(double days) {
    while (model.time_s() < days * day_s * (1 - 1e-9)) model.step();
    return model.diagnose();
  }

  std::unique_ptr<TestCase> test_case;
  Decomposition decomposition;
  Exchange exchange{Exchange::Way::blocking};
  Model model;
};

void winds_come_back_from_vorticity_and_divergence(const Communicator& world) {
  for (const char* name : {"bell", "zonal", "mountain", "wave"}) {
    Run run(name, t21, 1, world);
    CHECK(run.model.diagnose().wind_error < 1e-13);
  }
}

// Case 2: only rounding errors, in all directions of the axis.
void steady_flow_stays(const Communicator& world) {
  const Diagnosis found = Run("zonal", t42, 1, world).after(1);
  CHECK(found.height_error < 1e-13);
  CHECK(found.wind_error < 1e-13);
}

// Cases 1, 3 and 4: errors of the truncation, which twice as many waves make much smaller.
void errors_converge(const Communicator& world) {
  struct Expected {
    const char* name;
    double coarse;
    double fine;
  };
  for (const Expected& one : {Expected{"bell", 5e-2, 1e-2}, {"compact", 3e-6, 1e-9}, {"low", 2e-4, 3e-6}}) {
    const double coarse = Run(one.name, t21, 1, world).after(1).height_error;
    const double fine = Run(one.name, t42, 1, world).after(1).height_error;
    CHECK(coarse < one.coarse);
    CHECK(fine < one.fine);
    CHECK(fine < coarse);
  }
}

// Cases 5 and 6, and all levels alike.
void integrals_are_conserved(const Communicator& world) {
  struct Expected {
    const char* name;
    double energy;
    double enstrophy;
  };
  for (const Expected& one : {Expected{"mountain", 1e-5, 1e-4}, {"wave", 2e-4, 2e-3}}) {
    Run run(one.name, t21, 2, world);
    const Diagnosis before = run.model.diagnose();
    const Diagnosis after = run.after(1);
    CHECK(std::abs(after.mass / before.mass - 1) < 1e-14);
    CHECK(std::abs(after.energy / before.energy - 1) < one.energy);
    CHECK(std::abs(after.enstrophy / before.enstrophy - 1) < one.enstrophy);
    const auto& state = run.model.state();
    for (std::size_t i = 0; i < state.size(); i += 2) CHECK(state[i] == state[i + 1]);
  }
}

// As in the specification, which has them beside PSTSWM's 4 and 153 million.
void work_is_counted() {
  CHECK(std::abs(Model::flops(resolution_named("T42"), 1) / 2.37e6 - 1) < 0.005);
  CHECK(std::abs(Model::flops(resolution_named("T85"), 1) / 14.26e6 - 1) < 0.005);
  CHECK(std::abs(Model::flops(resolution_named("T170"), 1) / 92.47e6 - 1) < 0.005);
  CHECK(Model::flops(t42, 16) == 16 * Model::flops(t42, 1));
}

// Case 6: without divergence the wave would move by (r (3 + r) omega - 2 Omega)/((1 + r) (2 + r)), Haurwitz
// 1940, J. Mar. Res. 3, 254-267; gravity slows it down a little.
void the_wave_moves_as_fast_as_theory_says(const Communicator& world) {
  Run run("wave", t42, 1, world);
  constexpr int r = 4;
  const auto phase = [&] {
    std::ptrdiff_t at = 0;
    for (int m = 0; m < r; ++m) at += t42.truncation + 2 - m;
    const double* const zeta = run.model.state().data() + (at + 1) * run.model.state_width();
    return std::arg(std::complex<double>(zeta[0], zeta[1]));
  };
  const double begin = phase();
  run.after(1);
  const double moved = std::remainder(begin - phase(), 2 * std::numbers::pi) / r;
  const double expected =
      (r * (3 + r) * 7.848e-6 - 2 * earth::rotation) / ((1 + r) * (2 + r)) * run.model.time_s();
  CHECK(moved > 0.85 * expected && moved < expected);
}

}  // namespace

int main(int argc, char** argv) {
  const scope::MpiEnvironment environment(argc, argv, false);
  const Communicator world = Communicator::duplicate(MPI_COMM_WORLD);
  quadrature_is_exact_up_to_its_degree();
  legendre_functions_are_orthonormal();
  legendre_functions_are_those_of_closed_form();
  fourier_transforms_are_sums();
  a_round_trip_changes_nothing(world);
  winds_come_back_from_vorticity_and_divergence(world);
  steady_flow_stays(world);
  errors_converge(world);
  integrals_are_conserved(world);
  the_wave_moves_as_fast_as_theory_says(world);
  work_is_counted();
  return scope::testing::failures;
}
