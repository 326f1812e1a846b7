// Gauss-Legendre quadrature: the latitudes of the transform grid.
#pragma once

#include <vector>

namespace scope::shallow_water {

// Nodes mu = sin(latitude) and weights of the northern hemisphere, from the pole to the equator; those of the
// southern hemisphere are -mu with the same weights. Over both hemispheres the weights add up to 2.
struct Quadrature {
  std::vector<double> nodes;
  std::vector<double> weights;
};

// `latitudes`: an even number. Exact for polynomials in mu of a degree up to 2 latitudes - 1.
Quadrature gauss_legendre(int latitudes);

}  // namespace scope::shallow_water
