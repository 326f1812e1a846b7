// Fast Fourier transforms of a power of two points, four at once: their loads and arithmetic fill the lanes
// of a processor at any flags.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

namespace scope::npb {

struct Complex {
  double re;
  double im;
};

// A value of two transforms at once.
using Two = double __attribute__((vector_size(16)));
struct TwoComplex {
  Two re;
  Two im;
};

inline TwoComplex operator+(const TwoComplex& a, const TwoComplex& b) {
  return {a.re + b.re, a.im + b.im};
}
inline TwoComplex operator-(const TwoComplex& a, const TwoComplex& b) {
  return {a.re - b.re, a.im - b.im};
}
inline TwoComplex operator*(const Complex& w, const TwoComplex& a) {
  return {w.re * a.re - w.im * a.im, w.re * a.im + w.im * a.re};
}

inline TwoComplex load(const Complex& first, const Complex& second) {
  return {Two{first.re, second.re}, Two{first.im, second.im}};
}
inline void store(const TwoComplex& value, Complex& first, Complex& second) {
  first = {value.re[0], value.im[0]};
  second = {value.re[1], value.im[1]};
}

enum class Direction { forward, backward };

class Fft {
 public:
  static constexpr int together = 4;
  static constexpr int pairs = together / 2;  // TwoComplex for each point

  explicit Fft(int points) : points_(points), roots_(points), work_(points * pairs), other_(points * pairs) {
    for (int k = 0; k < points; ++k) {
      const double angle = -2 * std::numbers::pi * k / points;
      roots_[k] = {std::cos(angle), std::sin(angle)};
    }
  }

  int points() const { return points_; }

  // What is to be transformed: point i of the transforms 2 lane and 2 lane + 1 is at [i * pairs + lane].
  TwoComplex* input() { return work_.data(); }

  // Not scaled. By Stockham's method: passes of radix 4, and one of radix 2 where a factor is left, between
  // two arrays, so that the points come out in order (Van Loan 1992, Computational Frameworks for the Fast
  // Fourier Transform, 1.7). Returns where the result is.
  template <Direction direction>
  const TwoComplex* transform() {
    TwoComplex* from = work_.data();
    TwoComplex* to = other_.data();
    int left = points_;
    int done = 1;
    for (; left >= 4; left /= 4, done *= 4) {
      radix_4<direction>(from, to, left / 4, done);
      std::swap(from, to);
    }
    if (left == 2) {
      radix_2(from, to, done);
      std::swap(from, to);
    }
    return from;
  }

 private:
  template <Direction direction>
  Complex root(int k) const {
    const Complex root = roots_[k];
    return direction == Direction::forward ? root : Complex{root.re, -root.im};
  }

  // a times -i, or i on the way back.
  template <Direction direction>
  static TwoComplex turned(const TwoComplex& a) {
    if constexpr (direction == Direction::forward) return {a.im, -a.re};
    return {-a.im, a.re};
  }

  // `quarter`: a quarter of the points that are left; `done`: the length of the transforms made so far.
  template <Direction direction>
  void radix_4(const TwoComplex* from, TwoComplex* to, int quarter, int done) const {
    const int length = done * pairs;
    for (int p = 0; p < quarter; ++p) {
      const Complex w1 = root<direction>(p * done);
      const Complex w2 = root<direction>(2 * p * done);
      const Complex w3 = root<direction>(3 * p * done);
      const TwoComplex* const a = from + p * length;
      const TwoComplex* const b = a + quarter * length;
      const TwoComplex* const c = b + quarter * length;
      const TwoComplex* const d = c + quarter * length;
      TwoComplex* const out = to + 4 * p * length;
      for (int q = 0; q < length; ++q) {
        const TwoComplex sum_ac = a[q] + c[q];
        const TwoComplex difference_ac = a[q] - c[q];
        const TwoComplex sum_bd = b[q] + d[q];
        const TwoComplex difference_bd = turned<direction>(b[q] - d[q]);
        out[q] = sum_ac + sum_bd;
        out[q + length] = w1 * (difference_ac + difference_bd);
        out[q + 2 * length] = w2 * (sum_ac - sum_bd);
        out[q + 3 * length] = w3 * (difference_ac - difference_bd);
      }
    }
  }

  static void radix_2(const TwoComplex* from, TwoComplex* to, int done) {
    const int length = done * pairs;
    for (int q = 0; q < length; ++q) {
      to[q] = from[q] + from[q + length];
      to[q + length] = from[q] - from[q + length];
    }
  }

  int points_;
  std::vector<Complex> roots_;
  std::vector<TwoComplex> work_;
  std::vector<TwoComplex> other_;
};

}  // namespace scope::npb
