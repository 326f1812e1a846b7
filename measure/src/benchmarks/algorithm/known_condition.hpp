// Dense matrices with known singular values, eigenvalues and condition number. Any process can compute any
// element independently.
#pragma once

#include <cmath>
#include <cstdint>

#include "benchmarks/algorithm/values.hpp"
#include "blas/dense.hpp"

namespace scope {

// A = (I - 2 u u^T) D (I - 2 v v^T) with unit vectors u and v: two Householder reflections preserve the
// singular values. D decreases evenly on a logarithmic scale from 1 to 1 / condition. If u = v, A is symmetric
// and positive definite, with eigenvalues D.
class KnownCondition {
 public:
  KnownCondition(std::int64_t n, double condition, std::uint64_t seed, bool symmetric)
      : d_(n), u_(unit(n, seed)), v_(symmetric ? u_ : unit(n, ~seed)), middle_(0) {
    for (std::int64_t i = 0; i < n; ++i) {
      d_[i] = n > 1 ? std::pow(condition, -static_cast<double>(i) / static_cast<double>(n - 1)) : 1.0;
      middle_ += u_[i] * d_[i] * v_[i];
    }
  }

  double operator()(std::int64_t row, std::int64_t column) const {
    const double diagonal = row == column ? d_[row] : 0.0;
    return diagonal - 2 * u_[row] * u_[column] * d_[column] - 2 * d_[row] * v_[row] * v_[column] +
           4 * middle_ * u_[row] * v_[column];
  }

  // From the largest to the smallest.
  const Vector& singular_values() const { return d_; }

 private:
  static Vector unit(std::int64_t n, std::uint64_t seed) {
    Vector x(n);
    double squares = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      x[i] = matrix_value(seed, i);
      squares += x[i] * x[i];
    }
    for (auto& value : x) value /= std::sqrt(squares);
    return x;
  }

  Vector d_;
  Vector u_;
  Vector v_;
  double middle_;  // u^T D v
};

// Banded matrices whose condition number c in the row-sum norm is at most as requested: |a_ii| = 1 and the other
// magnitudes of a row sum to at most r = (c - 1) / (c + 1), so that |A| <= 1 + r and |A^-1| <= 1 / (1 - r)
// (Varah 1975, Linear Algebra and its Applications 11).
class KnownBand {
 public:
  KnownBand(std::int64_t n, int band, double condition, std::uint64_t seed)
      : n_(n), band_(band), seed_(seed), off_((condition - 1) / (condition + 1) / (2.0 * band)) {}

  // Symmetric and positive definite.
  double symmetric(std::int64_t row, std::int64_t column) const {
    if (row == column) return 1;
    if (std::abs(row - column) > band_) return 0;
    return 2 * off_ * matrix_value(seed_, std::min(row, column) * n_ + std::max(row, column));
  }

  // The rows of each pair (0, 1), (2, 3), ... are exchanged, so that every second column must be pivoted; the
  // exchange preserves the norms of A and its inverse and widens a band of band - 1 by one.
  double general(std::int64_t row, std::int64_t column) const {
    const std::int64_t partner = row ^ 1;
    const std::int64_t original = band_ > 0 && partner < n_ ? partner : row;
    if (original == column) return 1;
    if (std::abs(original - column) >= band_) return 0;
    return 2 * off_ * matrix_value(seed_, original * n_ + column);
  }

 private:
  std::int64_t n_;
  int band_;
  std::uint64_t seed_;
  double off_;
};

}  // namespace scope
