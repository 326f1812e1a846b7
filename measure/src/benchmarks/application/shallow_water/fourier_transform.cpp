#include "benchmarks/application/shallow_water/fourier_transform.hpp"

#include <numbers>
#include <stdexcept>

#include "text/words.hpp"

namespace scope::shallow_water {
namespace {

using npb::Lanes;

template <class Real>
struct Complex {
  Real re;
  Real im;
};
template <class Real>
SCOPE_INLINE inline Complex<Real> operator+(const Complex<Real>& a, const Complex<Real>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class Real>
SCOPE_INLINE inline Complex<Real> operator-(const Complex<Real>& a, const Complex<Real>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <class Real>
SCOPE_INLINE inline Complex<Real> operator*(double s, const Complex<Real>& a) {
  return {s * a.re, s * a.im};
}
// -i a
template <class Real>
SCOPE_INLINE inline Complex<Real> turned(const Complex<Real>& a) {
  return {a.im, -a.re};
}

// Transforms of 2, 3, 4, 5 and 8 points, in place (Temperton 1983, J. Comput. Phys. 52, 1-23). `flops`: operations
// for one complex line.
template <int radix>
struct Butterfly;

template <>
struct Butterfly<2> {
  static constexpr int flops = 4;
  template <class Values>
  SCOPE_INLINE static void apply(Values* x) {
    const Values a = x[0];
    x[0] = a + x[1];
    x[1] = a - x[1];
  }
};

template <>
struct Butterfly<3> {
  static constexpr int flops = 16;
  template <class Values>
  SCOPE_INLINE static void apply(Values* x) {
    const Values sum = x[1] + x[2];
    const Values u = x[0] - 0.5 * sum;
    const Values v = turned(std::numbers::sqrt3 / 2 * (x[1] - x[2]));
    x[0] = x[0] + sum;
    x[1] = u + v;
    x[2] = u - v;
  }
};

template <>
struct Butterfly<4> {
  static constexpr int flops = 16;
  template <class Values>
  SCOPE_INLINE static void apply(Values* x) {
    const Values sum_even = x[0] + x[2];
    const Values difference_even = x[0] - x[2];
    const Values sum_odd = x[1] + x[3];
    const Values difference_odd = turned(x[1] - x[3]);
    x[0] = sum_even + sum_odd;
    x[1] = difference_even + difference_odd;
    x[2] = sum_even - sum_odd;
    x[3] = difference_even - difference_odd;
  }
};

template <>
struct Butterfly<5> {
  static constexpr int flops = 48;
  template <class Values>
  SCOPE_INLINE static void apply(Values* x) {
    constexpr double cos_1 = 0.30901699437494742410;   // cos(2 pi / 5)
    constexpr double cos_2 = -0.80901699437494742410;  // cos(4 pi / 5)
    constexpr double sin_1 = 0.95105651629515357212;
    constexpr double sin_2 = 0.58778525229247312917;
    const Values sum_1 = x[1] + x[4];
    const Values sum_2 = x[2] + x[3];
    const Values difference_1 = x[1] - x[4];
    const Values difference_2 = x[2] - x[3];
    const Values u_1 = x[0] + cos_1 * sum_1 + cos_2 * sum_2;
    const Values u_2 = x[0] + cos_2 * sum_1 + cos_1 * sum_2;
    const Values v_1 = turned(sin_1 * difference_1 + sin_2 * difference_2);
    const Values v_2 = turned(sin_2 * difference_1 - sin_1 * difference_2);
    x[0] = x[0] + sum_1 + sum_2;
    x[1] = u_1 + v_1;
    x[2] = u_2 + v_2;
    x[3] = u_2 - v_2;
    x[4] = u_1 - v_1;
  }
};

template <>
struct Butterfly<8> {
  static constexpr int flops = 2 * Butterfly<4>::flops + 8 + 16;
  template <class Values>
  SCOPE_INLINE static void apply(Values* x) {
    constexpr double root = std::numbers::sqrt2 / 2;
    Values even[4] = {x[0], x[2], x[4], x[6]};
    Values odd[4] = {x[1], x[3], x[5], x[7]};
    Butterfly<4>::apply(even);
    Butterfly<4>::apply(odd);
    odd[1] = root * (odd[1] + turned(odd[1]));
    odd[2] = turned(odd[2]);
    odd[3] = root * (turned(odd[3]) - odd[3]);
    npb::each<4>([&](auto k) SCOPE_INLINE {
      x[k] = even[k] + odd[k];
      x[k + 4] = even[k] - odd[k];
    });
  }
};

// One pass of Stockham's method, which multiplies the length of the transforms by `radix` (Van Loan 1992,
// Computational Frameworks for the Fast Fourier Transform, section 1.7). `roots`: roots of unity of the transform.
struct Pass {
  const double* from;
  double* to;
  int done;  // length of the transforms so far
  int rest;  // points over (done * radix)
  int lines;
  int re;  // offset of the real parts of a point
  int im;

  template <int lanes, int radix, class Root>
  SCOPE_INLINE void run(const Root* roots) const {
    const std::ptrdiff_t element = 2 * static_cast<std::ptrdiff_t>(lines);
    for (int p = 0; p < rest; ++p) {
      for (int q = 0; q < done; ++q) {
        const double* const in = from + (q + static_cast<std::ptrdiff_t>(done) * p) * element;
        double* const out = to + (q + static_cast<std::ptrdiff_t>(done) * radix * p) * element;
        const std::ptrdiff_t in_step = static_cast<std::ptrdiff_t>(done) * rest * element;
        const std::ptrdiff_t out_step = done * element;
        npb::in_runs<lanes>(0, lines, [&](auto run, int line) SCOPE_INLINE {
          using Real = typename decltype(run)::Real;
          Complex<Real> x[radix];
          npb::each<radix>([&](auto k) SCOPE_INLINE {
            x[k] = {npb::load<Real>(in + k * in_step + re + line), npb::load<Real>(in + k * in_step + im + line)};
          });
          Butterfly<radix>::apply(x);
          npb::each<radix>([&](auto k) SCOPE_INLINE {
            Complex<Real> y = x[k];
            if (k > 0 && p > 0) {
              const Root w = roots[static_cast<std::ptrdiff_t>(k) * p * done];
              y = {w.re * x[k].re - w.im * x[k].im, w.re * x[k].im + w.im * x[k].re};
            }
            npb::store(out + k * out_step + re + line, y.re);
            npb::store(out + k * out_step + im + line, y.im);
          });
        });
      }
    }
  }
};

int butterfly_flops(int radix) {
  switch (radix) {
    case 2: return Butterfly<2>::flops;
    case 3: return Butterfly<3>::flops;
    case 4: return Butterfly<4>::flops;
    case 5: return Butterfly<5>::flops;
    default: return Butterfly<8>::flops;
  }
}

}  // namespace

FourierTransform::FourierTransform(int points, int lines, npb::Width width)
    : points_(points),
      lines_(lines),
      width_(width),
      roots_(points),
      one_(2 * static_cast<std::size_t>(points) * lines),
      other_(one_.size()) {
  int left = points;
  for (const int radix : {8, 4, 2, 3, 5})
    for (; left % radix == 0; left /= radix) radices_.push_back(radix);
  if (points < 1 || left != 1)
    throw std::invalid_argument(sentence({points, " points: the only prime factors allowed are 2, 3 and 5"}));
  for (int k = 0; k < points; ++k) {
    const double angle = -2 * std::numbers::pi * k / points;
    roots_[k] = {std::cos(angle), std::sin(angle)};
  }
  int done = 1;
  for (const int radix : radices_) {
    const int rest = points / (done * radix);
    constexpr int flops_of_product = 6;
    flops_ += static_cast<double>(lines) * done *
              (rest * butterfly_flops(radix) + (rest - 1) * (radix - 1) * flops_of_product);
    done *= radix;
  }
}

const double* FourierTransform::transform(const double* from, int re, int im) {
  double* to = one_.data();
  double* next = other_.data();
  npb::in_lanes(width_, [&]<int lanes>() SCOPE_INLINE {
    int done = 1;
    for (const int radix : radices_) {
      const Pass pass{from, to, done, points_ / (done * radix), lines_, re, im};
      if (radix == 2) pass.template run<lanes, 2>(roots_.data());
      if (radix == 3) pass.template run<lanes, 3>(roots_.data());
      if (radix == 4) pass.template run<lanes, 4>(roots_.data());
      if (radix == 5) pass.template run<lanes, 5>(roots_.data());
      if (radix == 8) pass.template run<lanes, 8>(roots_.data());
      done *= radix;
      from = to;
      std::swap(to, next);
    }
  });
  return from;
}

}  // namespace scope::shallow_water
