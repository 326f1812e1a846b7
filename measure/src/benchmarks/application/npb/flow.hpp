// The simulated flow that LU, SP and BT solve: five quantities (density, momentum in x, y and z, energy) on
// n x n x n points of the unit cube, driven so that a polynomial is the steady solution.
//
// After Bailey et al., RNR-94-007, section 3 (constants: 3.2; exact solution and initial values: 3.2, 3.3).
#pragma once

#include <array>

namespace scope::npb {

constexpr int quantities = 5;
using Quantities = std::array<double, quantities>;

// k1 ... k5 of the report.
constexpr double k1 = 1.4;
constexpr double k2 = 0.4;
constexpr double k3 = 0.1;
constexpr double k4 = 1.0;
constexpr double k5 = 1.4;

constexpr double viscosity = k3 * k4;
constexpr double conductivity = k1 * k3 * k4 * k5;
// A velocity diffuses faster along its own direction.
constexpr double stretching(int axis, int component) { return axis == component ? 4.0 / 3.0 : 1.0; }
// Coefficients d of the second derivative of all quantities, along x, y and z.
constexpr std::array<double, 3> diffusion = {0.75, 0.75, 1.0};
// Weight of the fourth differences: a quarter of the largest diffusion.
constexpr double dissipation = 0.25;

// A grid and a time step.
struct Flow {
  int n;
  double dt;

  double first_difference() const { return 0.5 * (n - 1); }
  double second_difference() const { return static_cast<double>(n - 1) * (n - 1); }
};

// The steady solution at a point of the unit cube.
inline Quantities exact_solution(double x, double y, double z) {
  constexpr double c[quantities][13] = {{2.0, 0.0, 0.0, 4.0, 5.0, 3.0, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
                                        {1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
                                        {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
                                        {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
                                        {5.0, 4.0, 3.0, 2.0, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2}};
  Quantities u{};
  for (int m = 0; m < quantities; ++m) {
    const auto along = [&](double t, int first) {
      return t * (c[m][first] + t * (c[m][first + 3] + t * (c[m][first + 6] + t * c[m][first + 9])));
    };
    u[m] = c[m][0] + along(x, 1) + along(y, 2) + along(z, 3);
  }
  return u;
}

// The exact solution on the faces of the cube; inside, the report's interpolation of the six faces.
inline Quantities initial_values(double x, double y, double z) {
  const auto wall = [](double t) { return t <= 0 || t >= 1; };
  if (wall(x) || wall(y) || wall(z)) return exact_solution(x, y, z);
  const auto blend = [](double t, double low, double high) { return (1 - t) * low + t * high; };
  const Quantities west = exact_solution(0, y, z), east = exact_solution(1, y, z);
  const Quantities south = exact_solution(x, 0, z), north = exact_solution(x, 1, z);
  const Quantities bottom = exact_solution(x, y, 0), top = exact_solution(x, y, 1);
  Quantities u{};
  for (int m = 0; m < quantities; ++m) {
    const double px = blend(x, west[m], east[m]);
    const double py = blend(y, south[m], north[m]);
    const double pz = blend(z, bottom[m], top[m]);
    u[m] = px + py + pz - px * py - py * pz - pz * px + px * py * pz;
  }
  return u;
}

}  // namespace scope::npb
