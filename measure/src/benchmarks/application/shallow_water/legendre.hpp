// Associated Legendre functions, normalized: the integral of the square of P_n^m over mu from -1 to 1 is 1.
#pragma once

#include <cmath>
#include <vector>

namespace scope::shallow_water {

// epsilon_n^m of the recurrences mu P_n = epsilon_{n+1} P_{n+1} + epsilon_n P_{n-1} and
// (1 - mu^2) dP_n/dmu = (n + 1) epsilon_n P_{n-1} - n epsilon_{n+1} P_{n+1} (Hack & Jakob 1992, section 5.a).
inline double recurrence_factor(int n, int m) {
  const double degree = n;
  const double order = m;
  return std::sqrt((degree * degree - order * order) / (4 * degree * degree - 1));
}

// P_m^m(mu) ... P_degree^m(mu), 0 <= m <= degree. The upward recurrence over n from the sectoral function is
// stable (Belousov 1962, Tables of Normalized Associated Legendre Polynomials).
inline std::vector<double> legendre_functions(int m, int degree, double mu) {
  const double cosine = std::sqrt((1 - mu) * (1 + mu));
  double sectoral = std::sqrt(0.5);
  for (int k = 1; k <= m; ++k) sectoral *= std::sqrt((2.0 * k + 1) / (2.0 * k)) * cosine;
  std::vector<double> values{sectoral};
  double before = 0;
  for (int n = m; n < degree; ++n) {
    const double here = values.back();
    values.push_back((mu * here - recurrence_factor(n, m) * before) / recurrence_factor(n + 1, m));
    before = here;
  }
  return values;
}

}  // namespace scope::shallow_water
