// What a check of dense linear algebra needs: products with a vector, which cost n^2 where the result cost
// n^3.
//
// A wrong product or factorisation differs from the right one on a vector without zeros, whatever element is
// wrong, unless errors cancel exactly (Freivalds 1977, IFIP Congress). Matrices are stored by columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace scope {

using Vector = std::vector<double>;

constexpr double epsilon = std::numeric_limits<double>::epsilon();

// Values in [-0.5, 0.5).
template <class Real>
void fill_random(std::span<Real> values, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (auto& value : values)
    value = static_cast<Real>(std::ldexp(static_cast<double>(random() >> 40), -24) - 0.5);
}

// Values of either sign between 0.5 and 1.
inline Vector probe(std::size_t n, std::uint64_t seed) {
  Vector x(n);
  fill_random(std::span(x), ~seed);
  for (auto& value : x) value += value < 0 ? -0.5 : 0.5;
  return x;
}

// A x, or A^T x.
template <class Real>
Vector multiply(const Real* a, const Vector& x, bool transposed = false) {
  const std::size_t n = x.size();
  Vector y(n);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) {
      if (transposed) {
        y[j] += a[i + j * n] * x[i];
      } else {
        y[i] += a[i + j * n] * x[j];
      }
    }
  }
  return y;
}

inline double largest(std::span<const double> values) {
  double most = 0;
  for (const double value : values) {
    if (std::isnan(value)) return value;  // no bound holds for it
    most = std::max(most, std::abs(value));
  }
  return most;
}

inline double largest_difference(const Vector& one, const Vector& other) {
  Vector difference(one.size());
  for (std::size_t i = 0; i < one.size(); ++i) difference[i] = one[i] - other[i];
  return largest(difference);
}

// |A| x
template <class Real>
Vector multiply_magnitudes(const Real* a, const Vector& x) {
  const std::size_t n = x.size();
  Vector y(n);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) y[i] += std::abs(static_cast<double>(a[i + j * n])) * x[j];
  }
  return y;
}

// Empty when C is the product A B of n x n matrices, else which row of it is wrong, a row being called
// `line`.
//
// |C x - A (B x)| <= 4 n u |A| |B| |x| for any order of summation (Higham 2002, section 3.5): one n u for C,
// the rest for the rounding of the check, which is made in double precision.
template <class Real>
std::string product_problem(const Real* a, const Real* b, const Real* c, std::size_t n, std::uint64_t seed,
                            const char* line) {
  const Vector x = probe(n, seed);
  const Vector left = multiply(c, x);
  const Vector right = multiply(a, multiply(b, x));
  const Vector limit = multiply_magnitudes(a, multiply_magnitudes(b, Vector(n, 1.0)));
  const double unit = std::numeric_limits<Real>::epsilon() / 2;
  for (std::size_t i = 0; i < n; ++i) {
    if (!(std::abs(left[i] - right[i]) <= 4.0 * static_cast<double>(n) * unit * limit[i])) {
      return line + (" " + std::to_string(i)) + " of the product is wrong: residual " +
             std::to_string(std::abs(left[i] - right[i]));
    }
  }
  return "";
}

// The largest row sum of absolute values.
inline double row_norm(std::span<const double> a, std::size_t n) {
  Vector sums(n);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) sums[i] += std::abs(a[i + j * n]);
  }
  return largest(sums);
}

}  // namespace scope
