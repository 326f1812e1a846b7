// Complex Fourier transforms of many adjacent lines, with radices 2, 3, 4, 5 and 8.
//
// Two real lines form one complex line: here a latitude and its mirror image in the other hemisphere, which the
// Legendre transform combines anyway. Therefore no transform of real data is needed.
#pragma once

#include <vector>

#include "benchmarks/application/npb/vectors.hpp"
#include "memory/large_pages.hpp"

namespace scope::shallow_water {

// A line has `points` elements of 2 `lines` doubles: the real parts of all lines, then their imaginary parts.
class FourierTransform {
 public:
  // Throws std::invalid_argument if `points` has other prime factors than 2, 3 and 5.
  FourierTransform(int points, int lines, npb::Width width);

  // X_k = sum over i of x_i exp(-2 pi i k i / points), k = 0 ... points-1, not scaled. The result is
  // overwritten by the next transform.
  const double* forward(const double* from) { return transform(from, 0, lines_); }
  // The same transform with exp(+2 pi i k i / points).
  const double* backward(const double* from) { return transform(from, lines_, 0); }

  int points() const { return points_; }
  // Number of floating-point operations of one transform of all lines.
  double flops() const { return flops_; }

 private:
  struct Root {
    double re;
    double im;
  };

  // `re`, `im`: offsets of the real and imaginary parts in each point; swapping them reverses the direction.
  const double* transform(const double* from, int re, int im);

  int points_;
  int lines_;
  npb::Width width_;
  std::vector<int> radices_;
  std::vector<Root> roots_;  // exp(-2 pi i k / points)
  LargeArray one_;
  LargeArray other_;
  double flops_ = 0;
};

}  // namespace scope::shallow_water
