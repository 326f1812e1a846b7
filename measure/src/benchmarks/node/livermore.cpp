// node.livermore: the 24 Livermore loops, excerpts from a laboratory's programs, each with a typical rate.
//
// Timed: the published number of passes over one loop (MULTI = 10), from the published data, on every rank's own
// clock; the slowest rank counts. The result is compared with the checksum of the Livermore Fortran Kernels test
// for this loop, length and number of passes. The loops are written here from their description; arrays keep their
// order in memory, because some loops run over the end of one array into the next. Names of arrays and scalars are
// those of the description.

#include "benchmark.hpp"
#include "benchmarks/node/livermore_published.hpp"

namespace scope::livermore {
namespace {

// Baseline builds agree to 1e-13 on x86-64. If products and sums are fused, eleven digits agree, and seven for
// loop 12, which computes differences of neighbors.
double tolerance(int kernel) { return kernel == 12 ? 1e-6 : 1e-9; }

// A Fortran array: indices start at 1, and the first one is the fastest.
template <class Item, int... extents>
class Array {
 public:
  Array() = default;
  explicit Array(Item* begin) : begin_(begin) {}

  template <class... Index>
  Item& operator()(Index... index) const {
    constexpr std::array<int, sizeof...(extents)> extent{extents...};
    std::ptrdiff_t place = 0;
    std::ptrdiff_t stride = 1;
    std::size_t dimension = 0;
    ((place += stride * (index - 1), stride *= extent[dimension++]), ...);
    return begin_[place];
  }
  Item* data() const { return begin_; }

 private:
  Item* begin_ = nullptr;
};
using Line = Array<double, 1>;
using Numbers = Array<int, 1>;
using Columns = Array<double, 101, 7>;

// Hands out arrays one after another.
class Room {
 public:
  explicit Room(std::vector<double>& memory) : next_(memory.data()) {}
  template <class Made>
  void take(Made& array, int items) {
    array = Made(next_);
    next_ += items;
  }

 private:
  double* next_;
};

struct Scalars {
  double a11, a12, a13, a21, a22, a23, a31, a32, a33, ar, br, c0, cr, di, dk, dm22, dm23, dm24, dm25, dm26, dm27,
      dm28, dn, e3, e6, expmax, flx, q, qa, r, ri, s, scale, sig, stb5, t, xnc, xnei, xnm;
};
constexpr int scalars = sizeof(Scalars) / sizeof(double);
static_assert(scalars == 39);
constexpr int first_space = 19977;
constexpr int second_space = 34132;

// Friendly numbers near 0.1.
void write_signal(double* values, int count) {
  double fuzz = 1.2345e-3;
  double buzz = 1.0 + fuzz;
  const double fizz = 1.1 * fuzz;
  const double scaled = 1.0 / 10.0;
  for (int i = 0; i < count; ++i) {
    buzz = (1.0 - fuzz) * buzz + fuzz;
    fuzz = -fuzz;
    values[i] = (buzz - fizz) * scaled;
  }
}

// Park and Miller's generator of 1988 from the published seed, scaled to indices; the lengths draw successive numbers.
void write_indices(const Line& numbers, int length, int count) {
  constexpr std::int64_t multiplier = 16807;
  constexpr std::int64_t modulus = 2147483647;
  std::int64_t state = 256;
  for (int before = 0; before < length * count; ++before) state = state * multiplier % modulus;
  for (int i = 1; i <= count; ++i) {
    state = state * multiplier % modulus;
    numbers(i) = static_cast<double>(1 + state * (count - 1) / modulus);
  }
}

// A sum in which every position has a different weight.
double weighted_sum(std::span<const double> values) {
  double sum = 0;
  for (std::size_t k = 0; k < values.size(); ++k) sum += static_cast<double>(k + 1) * values[k];
  return sum;
}

class Kernels : NotCopied {
 public:
  Kernels(int kernel, int length)
      : kernel_(kernel),
        length_(length),
        n_(spans[length][kernel - 1]),
        space_(first_space + 1),
        plane_(second_space) {
    Room room(space_);
    for (Line* line : {&u, &v, &w, &x, &y, &z, &g}) room.take(*line, 1001);
    for (Line* line : {&du1, &du2, &du3}) room.take(*line, 101);
    for (Line* line : {&grd, &dex, &xi, &ex, &ex1, &dex1, &vx, &xx, &rx}) room.take(*line, 1001);
    room.take(rh, 2048);
    for (Line* line : {&vsp, &vstp, &vxne, &vxnd, &ve3, &vlr, &vlin, &b5}) room.take(*line, 101);
    for (Line* line : {&plan, &d}) room.take(*line, 300);
    for (Line* line : {&sa, &sb}) room.take(*line, 101);
    Room second(plane_);
    second.take(p, 4 * 512);
    second.take(px, 25 * 101);
    second.take(cx, 25 * 101);
    second.take(vy, 101 * 25);
    for (Columns* columns : {&vh, &vf, &vg, &vs, &za, &zp, &zq, &zr, &zm, &zb, &zu, &zv, &zz})
      second.take(*columns, 101 * 7);
    for (auto* square : {&b, &c, &h}) second.take(*square, 64 * 64);
    for (auto* box : {&u1, &u2, &u3}) second.take(*box, 5 * 101 * 2);
    ix = Numbers(ix_.data());
    ir = Numbers(ir_.data());
    zone = Numbers(zone_.data());
    restore();
  }

  int kernel() const { return kernel_; }
  int passes() const { return multiple * pass_counts[length_][kernel_ - 1] * pass_factors[length_]; }

  // The necessary number of operations of one pass, as published.
  double flops_of_pass() const {
    const double n = n_;
    switch (kernel_) {
      case 2: return 4 * (n - 4);
      case 4: return 2 * (std::floor((n - 5) / 5) + 1) * 3;
      case 5:
      case 11:
      case 24: return flops[kernel_ - 1] * (n - 1);
      case 6: return 2 * n * std::floor((n - 1) / 2);
      case 8: return 36 * (n - 1) * 2;
      case 15:
      case 18:
      case 23: return flops[kernel_ - 1] * (n - 1) * 5;
      case 16: return searched_;
      case 21: return 2 * 25 * 25 * n;
      default: return flops[kernel_ - 1] * n;
    }
  }

  // Restores the initial data of the kernel.
  void restore() {
    write_signal(space_.data(), first_space);
    write_signal(plane_.data(), second_space);
    write_signal(reinterpret_cast<double*>(&a), scalars);
    double value = 1.0;
    for (int j = 1; j <= 4; ++j)
      for (int k = 1; k <= 512; ++k, value += 0.5) p(j, k) = value;
    if (kernel_ == 14) {
      write_indices(grd, length_, 1001);
      for (int j = 1; j <= 1001; ++j) dex(j) *= -100.0;
      a.flx = 0.001;
    }
    if (kernel_ == 16) restore_search();
    if (kernel_ == 22) u(n_) = 0.99 * expmax * v(n_);
    if (kernel_ == 24) x(n_ / 2) = -1e10;
  }

  void pass() {
    switch (kernel_) {
      case 1: return hydrodynamics();
      case 2: return incomplete_cholesky();
      case 3: return inner_product();
      case 4: return banded_equations();
      case 5: return tridiagonal();
      case 6: return linear_recurrence();
      case 7: return equation_of_state();
      case 8: return alternating_directions();
      case 9: return integrate_predictors();
      case 10: return difference_predictors();
      case 11: return first_sum();
      case 12: return first_difference();
      case 13: return particles_in_plane();
      case 14: return particles_on_line();
      case 15: return casual();
      case 16: return search();
      case 17: return implicit_conditional();
      case 18: return explicit_hydrodynamics();
      case 19: return general_recurrence();
      case 20: return discrete_ordinates();
      case 21: return matrix_product();
      case 22: return planckian();
      case 23: return implicit_hydrodynamics();
      default: return smallest();
    }
  }

  // The arrays and numbers that contain the result.
  std::vector<std::span<double>> results() {
    const auto part = [](const auto& array, int items, int first = 0) {
      return std::span<double>(array.data() + first, static_cast<std::size_t>(items));
    };
    const int n = n_;
    switch (kernel_) {
      case 2: return {part(x, 2 * n)};
      case 4: return {std::span(scalar_).first(3)};
      case 5:
      case 11: return {part(x, n - 1, 1)};
      case 6:
      case 22: return {part(w, n)};
      case 8: return {part(u1, 10 * n), part(u2, 10 * n), part(u3, 10 * n)};
      case 9:
      case 10: return {part(px, 15 * n)};
      case 12: return {part(x, n - 1)};
      case 13: return {part(p, 8 * n), part(h, 8 * n)};
      case 14: return {part(vx, n), part(xx, n), part(rh, 67)};
      case 15: return {part(vy, 7 * n), part(vs, 7 * n)};
      case 17: return {part(vxne, n), part(vxnd, n), std::span(&a.xnm, 1)};
      case 18: return {part(zr, 7 * n), part(zz, 7 * n)};
      case 19: return {part(b5, n), std::span(&a.stb5, 1)};
      case 20: return {part(xx, n, 1)};
      case 21: return {part(px, 25 * n)};
      case 23: return {part(za, 7 * n)};
      case 3: return {std::span(&a.q, 1)};
      case 16:
      case 24: return {std::span(scalar_).first(1)};
      default: return {part(x, n)};
    }
  }
  double checksum() {
    double sum = 0;
    for (const auto& part : results()) sum += weighted_sum(part);
    return sum;
  }
  // The published checksum. For loop 4, it is a sum of data that the loop does not touch, so it is computed again here.
  double expected() const { return kernel_ == 4 ? banded_again() : checksums[length_][kernel_ - 1]; }

 private:
  static constexpr double expmax = 20;
  static constexpr int stride_of_bands = (1001 - 7) / 2;

  void hydrodynamics() {
    for (int k = 1; k <= n_; ++k) x(k) = a.q + y(k) * (a.r * z(k + 10) + a.t * z(k + 11));
  }
  void incomplete_cholesky() {
    int end = 0;
    int width = n_;
    do {
      const int begin = end;
      end += width;
      width /= 2;
      int i = end + 1;
      for (int k = begin + 2; k <= end; k += 2) {
        ++i;
        x(i) = x(k) - v(k) * x(k - 1) - v(k + 1) * x(k + 1);
      }
    } while (width > 1);
  }
  void inner_product() {
    double q = 0;
    for (int k = 1; k <= n_; ++k) q += z(k) * x(k);
    a.q = q;
  }
  void banded_equations() {
    for (int band = 0; band < 3; ++band) {
      const int k = 7 + band * stride_of_bands;
      int place = k - 6;
      double rest = x(k - 1);
      for (int j = 5; j <= n_; j += 5) rest -= x(place++) * y(j);
      scalar_[band] = x(k - 1) = y(5) * rest;
    }
  }
  // Loop 4 with higher precision.
  double banded_again() const {
    std::vector<double> friendly(first_space + 1);
    write_signal(friendly.data(), first_space);
    const std::vector<long double> begun(friendly.begin(), friendly.end());
    std::vector<long double> values(begun.begin() + 3 * 1001, begun.end());  // x, followed by y
    for (int pass = passes(); pass > 0; --pass) {
      for (int band = 0; band < 3; ++band) {
        long double& solved = values[5 + band * stride_of_bands];
        long double sum = 0;
        for (int j = 5; j <= n_; j += 5) sum += values[band * stride_of_bands + j / 5 - 1] * values[1001 + j - 1];
        solved = values[1001 + 4] * (solved - sum);
      }
    }
    long double checked = 0;
    for (int band = 0; band < 3; ++band) checked += (band + 1) * values[5 + band * stride_of_bands];
    return static_cast<double>(checked);
  }
  void tridiagonal() {
    for (int i = 2; i <= n_; ++i) x(i) = z(i) * (y(i) - x(i - 1));
  }
  void linear_recurrence() {
    for (int i = 2; i <= n_; ++i) {
      w(i) = 0.01;
      for (int k = 1; k < i; ++k) w(i) += b(i, k) * w(i - k);
    }
  }
  void equation_of_state() {
    const auto [q, r, t] = std::array{a.q, a.r, a.t};
    for (int k = 1; k <= n_; ++k) {
      x(k) = u(k) + r * (z(k) + r * y(k)) +
             t * (u(k + 3) + r * (u(k + 2) + r * u(k + 1)) + t * (u(k + 6) + q * (u(k + 5) + q * u(k + 4))));
    }
  }
  void alternating_directions() {
    for (int kx = 2; kx <= 3; ++kx) {
      for (int ky = 2; ky <= n_; ++ky) {
        du1(ky) = u1(kx, ky + 1, 1) - u1(kx, ky - 1, 1);
        du2(ky) = u2(kx, ky + 1, 1) - u2(kx, ky - 1, 1);
        du3(ky) = u3(kx, ky + 1, 1) - u3(kx, ky - 1, 1);
        const auto spread = [&](const auto& from) {
          return a.sig * (from(kx + 1, ky, 1) - 2.0 * from(kx, ky, 1) + from(kx - 1, ky, 1));
        };
        u1(kx, ky, 2) = u1(kx, ky, 1) + a.a11 * du1(ky) + a.a12 * du2(ky) + a.a13 * du3(ky) + spread(u1);
        u2(kx, ky, 2) = u2(kx, ky, 1) + a.a21 * du1(ky) + a.a22 * du2(ky) + a.a23 * du3(ky) + spread(u2);
        u3(kx, ky, 2) = u3(kx, ky, 1) + a.a31 * du1(ky) + a.a32 * du2(ky) + a.a33 * du3(ky) + spread(u3);
      }
    }
  }
  void integrate_predictors() {
    for (int k = 1; k <= n_; ++k) {
      px(1, k) = a.dm28 * px(13, k) + a.dm27 * px(12, k) + a.dm26 * px(11, k) + a.dm25 * px(10, k) +
                 a.dm24 * px(9, k) + a.dm23 * px(8, k) + a.dm22 * px(7, k) + a.c0 * (px(5, k) + px(6, k)) +
                 px(3, k);
    }
  }
  // Each difference replaces the number from which it was computed.
  void difference_predictors() {
    for (int k = 1; k <= n_; ++k) {
      double difference = cx(5, k);
      for (int row = 5; row <= 13; ++row) {
        const double before = px(row, k);
        px(row, k) = difference;
        difference -= before;
      }
      px(14, k) = difference;
    }
  }
  void first_sum() {
    x(1) = y(1);
    for (int k = 2; k <= n_; ++k) x(k) = x(k - 1) + y(k);
  }
  void first_difference() {
    for (int k = 1; k <= n_; ++k) x(k) = y(k + 1) - y(k);
  }
  void particles_in_plane() {
    const auto wrapped = [](double value) { return static_cast<int>(value) & 63; };
    for (int k = 1; k <= n_; ++k) {
      const int row = 1 + wrapped(p(1, k));
      const int column = 1 + wrapped(p(2, k));
      p(3, k) += b(row, column);
      p(4, k) += c(row, column);
      p(1, k) += p(3, k);
      p(2, k) += p(4, k);
      const int i = wrapped(p(1, k));
      const int j = wrapped(p(2, k));
      p(1, k) += y(i + 32);
      p(2, k) += z(j + 32);
      h(i + step_, j + step_) += 1.0;
    }
  }
  void particles_on_line() {
    for (int k = 1; k <= n_; ++k) {
      vx(k) = 0;
      xx(k) = 0;
      ix(k) = static_cast<int>(grd(k));
      xi(k) = ix(k);
      ex1(k) = ex(ix(k));
      dex1(k) = dex(ix(k));
    }
    for (int k = 1; k <= n_; ++k) {
      vx(k) += ex1(k) + (xx(k) - xi(k)) * dex1(k);
      xx(k) += vx(k) + a.flx;
      ir(k) = static_cast<int>(xx(k));
      rx(k) = xx(k) - ir(k);
      ir(k) = (ir(k) & 2047) + 1;
      xx(k) = rx(k) + ir(k);
    }
    for (int k = 1; k <= n_; ++k) {
      rh(ir(k)) += 1.0 - rx(k);
      rh(ir(k) + 1) += rx(k);
    }
  }
  void casual() {
    constexpr double high = 0.053;
    constexpr double low = 0.073;
    constexpr int last = 7;
    for (int j = 2; j <= last; ++j) {
      for (int k = 2; k <= n_; ++k) {
        if (j == last) {
          vy(k, j) = 0;
          continue;
        }
        const double across = vh(k, j + 1) > vh(k, j) ? high : low;
        const int from = vf(k, j) < vf(k - 1, j) ? k - 1 : k;
        const double wider = std::max(vh(from, j), vh(from, j + 1));
        vy(k, j) = std::sqrt(vg(k, j) * vg(k, j) + wider * wider) * across / vf(from, j);
        if (k == n_) {
          vs(k, j) = 0;
          continue;
        }
        const bool below = vf(k, j) < vf(k, j - 1);
        const int row = below ? j - 1 : j;
        const double longer = std::max(vg(k, row), vg(k + 1, row));
        vs(k, j) = std::sqrt(vh(k, j) * vh(k, j) + longer * longer) * (below ? low : high) / vf(k, row);
      }
    }
  }

  void restore_search() {
    constexpr int groups = 2;
    zone_.fill(0);
    d(1) = 1.01980486428764;
    for (int k = 2; k <= 300; ++k) d(k) = d(k - 1) + 1e-4 / d(k - 1);
    a.r = d(n_);
    for (int group = 0, m = 0; group < groups; ++group) {
      for (int half = 0; half < 2; ++half) {
        for (int k = 1; k <= n_; ++k) {
          ++m;
          plan(m) = a.r * ((k + 1.0) / k);
          zone(m) = 2 * k;
        }
      }
    }
    zone(2 * n_ + 1) = n_;
    a.s = d(n_ - 1);
    a.t = d(n_ - 2);
    looked_ = weighed_ = found_ = group_ = 0;
  }
  // The value whose sign decides at a place: if negative, the zone is searched from one side, else from the other.
  double decision(int place) {
    const int third = n_ / 3;
    if (place > n_) {
      ++weighed_;
      const auto square = [](double value) { return value * value; };
      return d(place) -
             (d(place - 1) * square(a.t - d(place - 2)) + square(a.s - d(place - 3)) + square(a.r - d(place - 4)));
    }
    if (place - n_ + 2 * third < 0) return plan(place) - a.t;
    return plan(place) - (place - n_ + third < 0 ? a.s : a.r);
  }
  void search() {
    group_ = 1;
    for (bool again = true; again;) {
      again = false;
      const int begin = 2 * n_ * (group_ - 1) + 1;
      for (int k = 1; k <= n_; ++k) {
        ++looked_;
        const int place = begin + 2 * k;
        found_ = zone(place);
        if (found_ == n_) break;
        const double sign = decision(found_);
        const int towards = zone(place - 1);
        if (sign == 0 || towards == 0) break;
        if ((sign > 0) == (towards > 0)) continue;
        if (++group_ > zone(1)) group_ = 1;
        again = group_ != 1;
        break;
      }
    }
    scalar_[0] = weighed_ + looked_ + found_ + group_;
    searched_ = (2.0 * looked_ + 10.0 * weighed_) / ++searches_;
  }

  void implicit_conditional() {
    double xnm = 1.0 / 3.0;
    double e6 = 1.03 / 3.07;
    for (int k = n_; k > 1; --k) {
      const double e3 = xnm * vlr(k) + vlin(k);
      const double xnei = vxne(k);
      vxnd(k) = e6;
      const double xnc = 5.0 / 3.0 * e3;
      if (xnm > xnc || xnei > xnc) {
        e6 = xnm * vsp(k) + vstp(k);
        vxne(k) = e6;
        ve3(k) = e6;
      } else {
        ve3(k) = e3;
        e6 = e3 + e3 - xnm;
        vxne(k) = e3 + e3 - xnei;
      }
      xnm = e6;
    }
    a.xnm = xnm;
  }
  void explicit_hydrodynamics() {
    constexpr double t = 0.0037;
    constexpr double s = 0.0041;
    for (int k = 2; k <= 6; ++k) {
      for (int j = 2; j <= n_; ++j) {
        za(j, k) = (zp(j - 1, k + 1) + zq(j - 1, k + 1) - zp(j - 1, k) - zq(j - 1, k)) *
                   (zr(j, k) + zr(j - 1, k)) / (zm(j - 1, k) + zm(j - 1, k + 1));
        zb(j, k) = (zp(j - 1, k) + zq(j - 1, k) - zp(j, k) - zq(j, k)) * (zr(j, k) + zr(j, k - 1)) /
                   (zm(j, k) + zm(j - 1, k));
      }
    }
    for (int k = 2; k <= 6; ++k) {
      for (int j = 2; j <= n_; ++j) {
        const auto flux = [&](const Columns& of) {
          return s * (za(j, k) * (of(j, k) - of(j + 1, k)) - za(j - 1, k) * (of(j, k) - of(j - 1, k)) -
                      zb(j, k) * (of(j, k) - of(j, k - 1)) + zb(j, k + 1) * (of(j, k) - of(j, k + 1)));
        };
        zu(j, k) += flux(zz);
        zv(j, k) += flux(zr);
      }
    }
    for (int k = 2; k <= 6; ++k) {
      for (int j = 2; j <= n_; ++j) {
        zr(j, k) += t * zu(j, k);
        zz(j, k) += t * zv(j, k);
      }
    }
  }
  void general_recurrence() {
    double stb5 = a.stb5;
    for (int k = 1; k <= n_; ++k) {
      b5(k) = sa(k) + stb5 * sb(k);
      stb5 = b5(k) - stb5;
    }
    for (int k = n_; k >= 1; --k) {
      b5(k) = sa(k) + stb5 * sb(k);
      stb5 = b5(k) - stb5;
    }
    a.stb5 = stb5;
  }
  void discrete_ordinates() {
    for (int k = 1; k <= n_; ++k) {
      const double di = y(k) - g(k) / (xx(k) + a.dk);
      const double dn = di != 0 ? std::max(a.s, std::min(z(k) / di, a.t)) : 0.2;
      x(k) = ((w(k) + v(k) * dn) * xx(k) + u(k)) / (vx(k) + v(k) * dn);
      xx(k + 1) = (x(k) - xx(k)) * dn + xx(k);
    }
  }
  void matrix_product() {
    for (int k = 1; k <= 25; ++k)
      for (int i = 1; i <= 25; ++i)
        for (int j = 1; j <= n_; ++j) px(i, j) += vy(i, k) * cx(k, j);
  }
  void planckian() {
    for (int k = 1; k <= n_; ++k) {
      y(k) = u(k) / v(k);
      w(k) = x(k) / (std::exp(y(k)) - 1.0);
    }
  }
  void implicit_hydrodynamics() {
    for (int j = 2; j <= 6; ++j) {
      for (int k = 2; k <= n_; ++k) {
        const double qa = za(k, j + 1) * zr(k, j) + za(k, j - 1) * zb(k, j) + za(k + 1, j) * zu(k, j) +
                          za(k - 1, j) * zv(k, j) + zz(k, j);
        za(k, j) += 0.175 * (qa - za(k, j));
      }
    }
  }
  void smallest() {
    int m = 1;
    for (int k = 2; k <= n_; ++k)
      if (x(k) < x(m)) m = k;
    scalar_[0] = m;
  }

  int kernel_;
  int length_;
  int n_;
  std::vector<double> space_;
  std::vector<double> plane_;
  std::array<int, 1001> ix_{};
  std::array<int, 1001> ir_{};
  std::array<int, 300> zone_{};
  std::array<double, 3> scalar_{};
  int step_ = 1;  // from a particle to its neighbor
  int looked_ = 0;
  int weighed_ = 0;
  int found_ = 0;
  int group_ = 0;
  int searches_ = 0;
  double searched_ = 0;

  Line u, v, w, x, y, z, g, du1, du2, du3, grd, dex, xi, ex, ex1, dex1, vx, xx, rx, rh, vsp, vstp, vxne, vxnd, ve3,
      vlr, vlin, b5, plan, d, sa, sb;
  Array<double, 4, 512> p;
  Array<double, 25, 101> px, cx;
  Array<double, 101, 25> vy;
  Columns vh, vf, vg, vs, za, zp, zq, zr, zm, zb, zu, zv, zz;
  Array<double, 64, 64> b, c, h;
  Array<double, 5, 101, 2> u1, u2, u3;
  Numbers ix, ir, zone;
  Scalars a{};
};

int length_of(const std::string& span) { return span == "long" ? 0 : span == "medium" ? 1 : 2; }

class Livermore final : public Benchmark {
 public:
  Livermore(const Parameters& parameters, const Communicator& communicator)
      : kernels_(static_cast<int>(parameters.integer("kernel")), length_of(parameters.choice("span"))),
        ranks_(communicator.size()) {
    kernels_.pass();  // counts the operations of one search
  }

  Work work() const override { return {.flops = kernels_.flops_of_pass() * kernels_.passes() * ranks_}; }

  void run(Repetition& repetition) override {
    kernels_.restore();
    repetition.time([this] {
      for (int pass = kernels_.passes(); pass > 0; --pass) {
        kernels_.pass();
        asm volatile("" : : "r"(&kernels_) : "memory");  // keeps passes that repeat the previous one
      }
    });
  }

  Check verify(std::uint64_t) override {
    const double found = kernels_.checksum();
    const double right = kernels_.expected();
    if (std::abs(found - right) <= tolerance(kernels_.kernel()) * std::abs(right)) return {1, ""};
    return {1, sentence({"checksum ", found, ", must be ", right})};
  }

  std::span<std::byte> received() override { return std::as_writable_bytes(kernels_.results()[0]); }
  std::vector<std::span<const std::byte>> computed() override {
    std::vector<std::span<const std::byte>> all;
    for (const auto& part : kernels_.results()) all.push_back(std::as_bytes(part));
    return all;
  }
  bool loops() const override { return false; }  // every repetition begins with the published data

 private:
  Kernels kernels_;
  int ranks_;
};

const Registration registration{{
    .name = "node.livermore",
    .title = "Livermore loops",
    .summary = "one of the 24 Livermore loops, with the published checksum",
    .rungs = {arithmetic()},
    .parameters = {problem("kernel", "", 1, 1, 24, "number of the loop").worded("loop {}"),
                   size("span", "long,medium,short", "length of the loops: up to 1001, 101 or 27 iterations")
                       .worded("long,medium,short")},
    .definition = Definition::max_rank,
    .metrics = {flops_per_second(), seconds("time_s")},
    .sweeps = {{"baseline", "nodes=types ranks=1 span=long kernel=1,3,5,8,14,21"},
               {"standard",
                "nodes=types ranks=1 span=long,medium,short "
                "kernel=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24"}},
    .make = make<Livermore>,
}};

}  // namespace
}  // namespace scope::livermore
