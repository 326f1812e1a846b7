// A Laplace problem with iterates that are known without iterating: a discrete harmonic function, which sweeps
// do not change, plus waves sin(a pi x) sin(b pi y), each of which a sweep multiplies by a known factor.
//
// The mean of the four neighbors multiplies a wave by lambda = (cos(a pi h) + cos(b pi h)) / 2, h = 1/(N + 1).
// Jacobi: by lambda in each sweep. Red-black: the first half sweep computes red from black points, the second
// black from red; after k sweeps the factor is lambda^(2k-1) for red and lambda^(2k) for black points.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace scope {

class Laplace {
 public:
  // N x N points inside a fixed boundary, rows and columns numbered from 0 (the boundary is -1 and N).
  // `rising`: only the slowest wave, so that no sweep of any kind makes it negative; otherwise also a wave
  // that distinguishes rows from columns, and the fastest, which changes sign in every Jacobi sweep.
  Laplace(int size, bool rising) : size_(size), step_(1.0 / (size + 1)) {
    add_wave(1, 1, 1.0);
    if (rising) return;
    add_wave(std::min(2, size), std::min(3, size), 0.5);
    add_wave(size, size, 0.25);
  }

  // Harmonic for the five-point stencil itself, not only in the limit of small steps.
  double harmonic(int row, int column) const {
    const double x = (column + 1) * step_;
    const double y = (row + 1) * step_;
    return x * x - y * y + x * y;
  }
  double start(int row, int column) const { return at(row, column, ones_); }

  // The factor of every wave after taking the mean of neighbors `applications` times.
  using Factors = std::vector<double>;
  Factors factors(std::int64_t applications) const {
    Factors factors;
    for (const Wave& wave : waves_) factors.push_back(std::pow(wave.lambda, static_cast<double>(applications)));
    return factors;
  }
  double at(int row, int column, const Factors& factors) const {
    double value = harmonic(row, column);
    for (std::size_t i = 0; i < waves_.size(); ++i) value += factors[i] * wave(i, row, column);
    return value;
  }
  double slowest_wave(int row, int column) const { return wave(0, row, column); }
  double slowest_lambda() const { return waves_.front().lambda; }

  // An upper bound on all values.
  double largest() const { return 1.25 + static_cast<double>(waves_.size()); }
  int size() const { return size_; }

 private:
  struct Wave {
    double lambda;
    std::vector<double> along_rows;     // including the amplitude
    std::vector<double> along_columns;  // both include the boundary, where they vanish
  };

  double wave(std::size_t which, int row, int column) const {
    return waves_[which].along_columns[row + 1] * waves_[which].along_rows[column + 1];
  }

  void add_wave(int a, int b, double amplitude) {
    const double pi = std::numbers::pi;
    waves_.push_back(
        {(std::cos(a * pi * step_) + std::cos(b * pi * step_)) / 2, sines(a, amplitude), sines(b, 1)});
    ones_.push_back(1.0);
  }
  std::vector<double> sines(int frequency, double amplitude) const {
    std::vector<double> values(size_ + 2, 0.0);
    for (int i = 1; i <= size_; ++i) values[i] = amplitude * std::sin(frequency * std::numbers::pi * i * step_);
    return values;
  }

  int size_;
  double step_;
  std::vector<Wave> waves_;
  Factors ones_;
};

}  // namespace scope
