// Gauss-Legendre quadrature: the latitudes of the transform grid.
#pragma once

#include <cmath>
#include <numbers>
#include <vector>

namespace scope::shallow_water {

// Nodes mu = sin(latitude) and weights of the northern hemisphere, from the pole to the equator; the southern
// hemisphere has the nodes -mu with the same weights. Over both hemispheres the weights add up to 2.
struct Quadrature {
  std::vector<double> nodes;
  std::vector<double> weights;
};

using Real = long double;

struct Polynomial {
  Real value;
  Real slope;
};

// The Legendre polynomial of this degree at x.
inline Polynomial legendre(int degree, Real x) {
  Real before = 1;
  Real value = x;
  for (int n = 2; n <= degree; ++n) {
    const Real next = ((2 * n - 1) * x * value - (n - 1) * before) / n;
    before = value;
    value = next;
  }
  return {value, degree * (x * value - before) / (x * x - 1)};
}

// `latitudes` must be even. Exact for polynomials in mu of degree up to 2 latitudes - 1.
inline Quadrature gauss_legendre(int latitudes) {
  Quadrature found;
  for (int j = 0; j < latitudes / 2; ++j) {
    // Newton's method converges quadratically from this estimate.
    Real x = std::cos(std::numbers::pi_v<Real> * (j + Real{0.75}) / (latitudes + Real{0.5}));
    for (int iteration = 0; iteration < 6; ++iteration) {
      const auto [value, slope] = legendre(latitudes, x);
      x -= value / slope;
    }
    const Real slope = legendre(latitudes, x).slope;
    found.nodes.push_back(static_cast<double>(x));
    found.weights.push_back(static_cast<double>(2 / ((1 - x * x) * slope * slope)));
  }
  return found;
}

}  // namespace scope::shallow_water
