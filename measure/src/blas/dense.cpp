#include "blas/dense.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "text/words.hpp"

namespace scope {

template <class Real>
void fill_random(std::span<Real> values, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (auto& value : values) value = static_cast<Real>(std::ldexp(static_cast<double>(random() >> 40), -24) - 0.5);
}

Vector probe(std::size_t n, std::uint64_t seed) {
  Vector x(n);
  fill_random(std::span(x), ~seed);
  for (auto& value : x) value += value < 0 ? -0.5 : 0.5;
  return x;
}

template <class Real>
Vector multiply(const Real* a, const Vector& x, bool transposed) {
  const std::size_t n = x.size();
  Vector y(n);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i)
      if (transposed)
        y[j] += a[i + j * n] * x[i];
      else
        y[i] += a[i + j * n] * x[j];
  }
  return y;
}

double largest(std::span<const double> values) {
  double most = 0;
  for (const double value : values) {
    if (std::isnan(value)) return value;  // NaN does not satisfy any bound
    most = std::max(most, std::abs(value));
  }
  return most;
}

double largest_difference(const Vector& one, const Vector& other) {
  Vector difference(one.size());
  for (std::size_t i = 0; i < one.size(); ++i) difference[i] = one[i] - other[i];
  return largest(difference);
}

template <class Real>
Vector multiply_magnitudes(const Real* a, const Vector& x) {
  const std::size_t n = x.size();
  Vector y(n);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < n; ++i) y[i] += std::abs(static_cast<double>(a[i + j * n])) * x[j];
  return y;
}

template <class Real>
std::string product_problem(const Real* a, const Real* b, const Real* c, std::size_t n, std::uint64_t seed,
                            const char* line) {
  const Vector x = probe(n, seed);
  const Vector left = multiply(c, x);
  const Vector right = multiply(a, multiply(b, x));
  const Vector limit = multiply_magnitudes(a, multiply_magnitudes(b, Vector(n, 1.0)));
  const double unit = std::numeric_limits<Real>::epsilon() / 2;
  for (std::size_t i = 0; i < n; ++i)
    if (!(std::abs(left[i] - right[i]) <= 4.0 * static_cast<double>(n) * unit * limit[i]))
      return sentence({line, " ", i, " of the product is wrong: residual ", std::abs(left[i] - right[i])});
  return "";
}

template <class Real>
double row_norm(std::span<const Real> a, std::size_t n) {
  Vector sums(n);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < n; ++i) sums[i] += std::abs(static_cast<double>(a[i + j * n]));
  return largest(sums);
}

template double row_norm(std::span<const double>, std::size_t);
template void fill_random(std::span<double>, std::uint64_t);
template Vector multiply(const double*, const Vector&, bool);
template Vector multiply_magnitudes(const double*, const Vector&);
template std::string product_problem(const double*, const double*, const double*, std::size_t, std::uint64_t,
                                     const char*);

template double row_norm(std::span<const float>, std::size_t);
template void fill_random(std::span<float>, std::uint64_t);
template Vector multiply(const float*, const Vector&, bool);
template Vector multiply_magnitudes(const float*, const Vector&);
template std::string product_problem(const float*, const float*, const float*, std::size_t, std::uint64_t,
                                     const char*);

}  // namespace scope
