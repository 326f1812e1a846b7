// Fast Fourier transforms of a power of two points, several at once in the lanes of vectors.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

#include "benchmarks/application/npb/vectors.hpp"
#include "memory/buffer.hpp"

namespace scope::npb {

struct Complex {
  double re;
  double im;
};

// One value of each transform, one per lane.
template <class Real>
struct Several {
  Real re;
  Real im;
};

template <class Real>
SCOPE_INLINE inline Several<Real> operator+(const Several<Real>& a, const Several<Real>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class Real>
SCOPE_INLINE inline Several<Real> operator-(const Several<Real>& a, const Several<Real>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <class Real>
SCOPE_INLINE inline Several<Real> operator*(const Complex& w, const Several<Real>& a) {
  return {w.re * a.re - w.im * a.im, w.re * a.im + w.im * a.re};
}

enum class Direction { forward, backward };

// Four transforms at once, by vectors of `lanes` values.
class Fft {
 public:
  static constexpr int together = 4;

  explicit Fft(int points) : points_(points), roots_(points), work_(bytes(points)), other_(bytes(points)) {
    for (int k = 0; k < points; ++k) {
      const double angle = -2 * std::numbers::pi * k / points;
      roots_[k] = {std::cos(angle), std::sin(angle)};
    }
  }

  int points() const { return points_; }

  // Transforms four columns: `from(i, column)` and `to(i, column)` give where point i of each is. Not scaled.
  // By Stockham's method: passes of radix 4, and one of radix 2 where a factor is left, between two arrays,
  // so that the points come out in order (Van Loan 1992, Computational Frameworks for the Fast Fourier
  // Transform, 1.7).
  template <Direction direction, int lanes, class From, class To>
  SCOPE_INLINE void transform(From from, To to) {
    using Values = Several<typename Vector<lanes>::Type>;
    constexpr int groups = together / lanes;
    auto* in = work_.as<Values>().data();
    auto* out = other_.as<Values>().data();
    for (int i = 0; i < points_; ++i) {
      for (int group = 0; group < groups; ++group) {
        each<lanes>([&](auto lane) SCOPE_INLINE {
          const Complex value = from(i, group * lanes + lane);
          set_number(in[i * groups + group].re, lane, value.re);
          set_number(in[i * groups + group].im, lane, value.im);
        });
      }
    }
    int left = points_;
    int done = 1;
    for (; left >= 4; left /= 4, done *= 4) {
      radix_4<direction>(in, out, left / 4, done, done * groups);
      std::swap(in, out);
    }
    if (left == 2) {
      radix_2(in, out, done * groups);
      std::swap(in, out);
    }
    for (int i = 0; i < points_; ++i) {
      for (int group = 0; group < groups; ++group) {
        each<lanes>([&](auto lane) SCOPE_INLINE {
          const Values& value = in[i * groups + group];
          to(i, group * lanes + lane) = {number(value.re, lane), number(value.im, lane)};
        });
      }
    }
  }

 private:
  static std::size_t bytes(int points) { return sizeof(Complex) * together * points; }

  template <Direction direction>
  Complex root(int k) const {
    const Complex root = roots_[k];
    return direction == Direction::forward ? root : Complex{root.re, -root.im};
  }

  // a times -i, or i on the way back.
  template <Direction direction, class Values>
  SCOPE_INLINE static Values turned(const Values& a) {
    if constexpr (direction == Direction::forward) return {a.im, -a.re};
    return {-a.im, a.re};
  }

  // `quarter`: a quarter of the remaining points; `done`: the length of the transforms made so far, which are
  // `length` values.
  template <Direction direction, class Values>
  SCOPE_INLINE void radix_4(const Values* from, Values* to, int quarter, int done, int length) const {
    for (int p = 0; p < quarter; ++p) {
      const Complex w1 = root<direction>(p * done);
      const Complex w2 = root<direction>(2 * p * done);
      const Complex w3 = root<direction>(3 * p * done);
      const Values* const a = from + p * length;
      const Values* const b = a + quarter * length;
      const Values* const c = b + quarter * length;
      const Values* const d = c + quarter * length;
      Values* const out = to + 4 * p * length;
      for (int q = 0; q < length; ++q) {
        const Values sum_ac = a[q] + c[q];
        const Values difference_ac = a[q] - c[q];
        const Values sum_bd = b[q] + d[q];
        const Values difference_bd = turned<direction>(b[q] - d[q]);
        out[q] = sum_ac + sum_bd;
        out[q + length] = w1 * (difference_ac + difference_bd);
        out[q + 2 * length] = w2 * (sum_ac - sum_bd);
        out[q + 3 * length] = w3 * (difference_ac - difference_bd);
      }
    }
  }

  template <class Values>
  SCOPE_INLINE static void radix_2(const Values* from, Values* to, int length) {
    for (int q = 0; q < length; ++q) {
      to[q] = from[q] + from[q + length];
      to[q + length] = from[q] - from[q + length];
    }
  }

  int points_;
  std::vector<Complex> roots_;
  Buffer work_;  // aligned for any vector
  Buffer other_;
};

}  // namespace scope::npb
