#include "benchmarks/application/shallow_water/legendre.hpp"

namespace scope::shallow_water {

std::vector<double> legendre_functions(int m, int degree, double mu) {
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
