// Checks of dense linear algebra by products with a vector, which cost n^2 operations while the result costs n^3.
//
// Applied to a vector without zeros, a wrong product or factorization differs from the correct one whichever
// element is wrong, unless errors cancel exactly (Freivalds 1977, IFIP Congress). Matrices are stored by columns.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace scope {

using Vector = std::vector<double>;

constexpr double epsilon = std::numeric_limits<double>::epsilon();

// `Real` is double or float throughout.

// Values in [-0.5, 0.5).
template <class Real>
void fill_random(std::span<Real> values, std::uint64_t seed);

// Values of either sign between 0.5 and 1.
Vector probe(std::size_t n, std::uint64_t seed);

// A x, or A^T x.
template <class Real>
Vector multiply(const Real* a, const Vector& x, bool transposed = false);

// The largest magnitude; NaN if any value is NaN.
double largest(std::span<const double> values);
double largest_difference(const Vector& one, const Vector& other);

// |A| x
template <class Real>
Vector multiply_magnitudes(const Real* a, const Vector& x);

// Empty if C is the product A B of n x n matrices, else a message that names the first wrong row; `line` is the
// word for a row.
//
// |C x - A (B x)| <= 4 n u |A| |B| |x| for any order of summation (Higham 2002, section 3.5): one n u for C,
// the rest for rounding in the check itself, which runs in double precision.
template <class Real>
std::string product_problem(const Real* a, const Real* b, const Real* c, std::size_t n, std::uint64_t seed,
                            const char* line);

// The largest row sum of absolute values.
template <class Real>
double row_norm(std::span<const Real> a, std::size_t n);

}  // namespace scope
