#include "benchmarks/application/shallow_water/legendre_transform.hpp"

#include <algorithm>
#include <cmath>

#include "benchmarks/application/shallow_water/legendre.hpp"

namespace scope::shallow_water {
namespace {

using npb::each;
using npb::load;
using npb::store;

// Functions of high m vanish towards the poles: below this they change no sum, but would slow it down as
// denormal numbers.
constexpr double negligible = 1e-100;

// Steps of a sum of outer products whose values stay in registers.
constexpr int steps_together = 4;
// Four rows of the result in two or three vectors each: eight independent sums hide the latency of additions, and
// twelve fill sixteen registers with what they are made of, where a product needs none of its own.
constexpr int rows_together = 4;
template <int lanes>
constexpr int vectors_together = lanes > 2 ? 3 : 2;

// Calls job<vectors, Real>(first column) for blocks of all columns. The last vector of all ends with the columns, and may
// overlap the one before; both are in one block, which adds to their columns once. Vectors of two do not overlap:
// columns are real and imaginary parts.
template <int lanes, class Job>
SCOPE_INLINE inline void in_vectors(int columns, Job&& job) {
  using Real = typename npb::Vector<lanes>::Type;
  constexpr int together = vectors_together<lanes>;
  int column = 0;
  if (columns < lanes) {
    for (; column < columns; ++column) job.template operator()<1, double>(column);
    return;
  }
  int left = (columns + lanes - 1) / lanes;
  for (; left >= together && left != together + 1; left -= together, column += together * lanes)
    job.template operator()<together, Real>(column);
  for (; left >= 2; left -= 2, column += 2 * lanes) job.template operator()<2, Real>(column);
  if (left == 1) job.template operator()<1, Real>(column);
}

// `rows` x `columns` = a b. Rows of a product, whose elements are `width` apart or more:
// result[row][column] = sum over k of a[row * inner + k] b[k * b_step + column].
struct Product {
  const double* a;
  const double* b;
  std::ptrdiff_t b_step;
  double* result;
  std::ptrdiff_t result_row;
  int inner;

  template <int rows, int vectors, class Real>
  SCOPE_INLINE void block(int row, int first, int columns) const {
    constexpr int lanes = npb::lanes_of<Real>;
    int column[vectors];
    each<vectors>([&](auto v) SCOPE_INLINE { column[v] = std::min(first + v * lanes, columns - lanes); });
    double* const to = result + row * result_row;
    Real sums[rows][vectors] = {};
    const double* left = a + static_cast<std::ptrdiff_t>(row) * inner;
    const double* right = b;
    for (int k = 0; k < inner; ++k, ++left, right += b_step) {
      Real values[vectors];
      each<vectors>([&](auto v) SCOPE_INLINE { values[v] = load<Real>(right + column[v]); });
      each<rows>([&](auto r) SCOPE_INLINE {
        const double factor = left[static_cast<std::ptrdiff_t>(r) * inner];
        each<vectors>([&](auto v) SCOPE_INLINE { sums[r][v] += factor * values[v]; });
      });
    }
    each<rows>([&](auto r) SCOPE_INLINE {
      each<vectors>([&](auto v) SCOPE_INLINE { store(to + r * result_row + column[v], sums[r][v]); });
    });
  }

  template <int rows, int lanes>
  SCOPE_INLINE void band(int row, int columns) const {
    in_vectors<lanes>(columns, [&]<int vectors, class Real>(int first)
                                   SCOPE_INLINE { block<rows, vectors, Real>(row, first, columns); });
  }

  template <int lanes>
  SCOPE_INLINE void run(int rows, int columns) const {
    int row = 0;
    for (; row + rows_together <= rows; row += rows_together) band<rows_together, lanes>(row, columns);
    for (; row + 2 <= rows; row += 2) band<2, lanes>(row, columns);
    for (; row < rows; ++row) band<1, lanes>(row, columns);
  }
};

// result[row][column] += sum over k of a[k * rows + row] b[k * columns + column]: a sum of outer products. Some steps at
// a time, whose values of b stay in registers, so that a, which is long, is read once and in its order.
struct OuterProducts {
  const double* a;
  const double* b;
  double* result;
  std::ptrdiff_t result_row;
  int rows;
  int columns;

  template <int steps, int vectors, class Real>
  SCOPE_INLINE void block(int k, int first) const {
    constexpr int lanes = npb::lanes_of<Real>;
    Real values[steps][vectors];
    int column[vectors];
    each<vectors>([&](auto v) SCOPE_INLINE { column[v] = std::min(first + v * lanes, columns - lanes); });
    each<steps>([&](auto s) SCOPE_INLINE {
      const double* const right = b + static_cast<std::ptrdiff_t>(k + s) * columns;
      each<vectors>([&](auto v) SCOPE_INLINE { values[s][v] = load<Real>(right + column[v]); });
    });
    const double* left = a + static_cast<std::ptrdiff_t>(k) * rows;
    double* to = result;
    for (int row = 0; row < rows; ++row, ++left, to += result_row) {
      Real sums[vectors];
      each<vectors>([&](auto v) SCOPE_INLINE { sums[v] = load<Real>(to + column[v]); });
      each<steps>([&](auto s) SCOPE_INLINE {
        const double factor = left[static_cast<std::ptrdiff_t>(s) * rows];
        each<vectors>([&](auto v) SCOPE_INLINE { sums[v] += factor * values[s][v]; });
      });
      each<vectors>([&](auto v) SCOPE_INLINE { store(to + column[v], sums[v]); });
    }
  }

  template <int lanes>
  SCOPE_INLINE void run(int inner) const {
    in_vectors<lanes>(columns, [&]<int vectors, class Real>(int first) SCOPE_INLINE {
      int k = 0;
      for (; k + steps_together <= inner; k += steps_together) block<steps_together, vectors, Real>(k, first);
      for (; k < inner; ++k) block<1, vectors, Real>(k, first);
    });
  }
};

}  // namespace

LegendreTransform::LegendreTransform(const Quadrature& quadrature, int truncation,
                                     std::vector<int> wavenumbers, Range pairs, npb::Width width)
    : truncation_(truncation), wavenumbers_(std::move(wavenumbers)), pairs_(pairs), width_(width) {
  coefficients_before_.push_back(0);
  std::ptrdiff_t size = 0;
  for (std::size_t index = 0; index < wavenumbers_.size(); ++index) {
    const auto i = static_cast<int>(index);
    coefficients_before_.push_back(coefficients_before_.back() + degrees(i));
    for (const int parity : {0, 1}) {
      begins_.push_back(size);
      size += static_cast<std::ptrdiff_t>(rows(i, parity)) * pairs_.size();
    }
  }
  functions_.resize(size);
  for (std::size_t index = 0; index < wavenumbers_.size(); ++index) {
    const auto i = static_cast<int>(index);
    for (int pair = pairs_.begin; pair < pairs_.end; ++pair) {
      const auto values = legendre_functions(wavenumbers_[i], truncation_ + 1, quadrature.nodes[pair]);
      for (const int parity : {0, 1}) {
        auto* to = functions_.data() + (functions(i, parity, pair) - functions_.data());
        for (std::size_t n = parity; n < values.size(); n += 2)
          *to++ = std::abs(values[n]) < negligible ? 0 : values[n];
      }
    }
  }
}

void LegendreTransform::analyse(Range indices, Range pairs, const double* fourier, double* spectral,
                                int width) const {
  npb::in_lanes(width_, [&]<int lanes>() SCOPE_INLINE {
    for (int index = indices.begin; index < indices.end; ++index) {
      for (const int parity : {0, 1}) {
        const int rows = this->rows(index, parity);
        const OuterProducts sum{functions(index, parity, pairs.begin),  fourier, spectral + parity * width,
                                2 * static_cast<std::ptrdiff_t>(width), rows,    width};
        sum.run<lanes>(pairs.size());
        fourier += static_cast<std::ptrdiff_t>(pairs.size()) * width;
      }
      spectral += static_cast<std::ptrdiff_t>(degrees(index)) * width;
    }
  });
}

void LegendreTransform::synthesise(Range indices, Range pairs, const double* spectral, double* fourier,
                                   int width) const {
  npb::in_lanes(width_, [&]<int lanes>() SCOPE_INLINE {
    for (int index = indices.begin; index < indices.end; ++index) {
      for (const int parity : {0, 1}) {
        const int rows = this->rows(index, parity);
        const Product product{functions(index, parity, pairs.begin),
                              spectral + parity * width,
                              2 * static_cast<std::ptrdiff_t>(width),
                              fourier,
                              width,
                              rows};
        product.run<lanes>(pairs.size(), width);
        fourier += static_cast<std::ptrdiff_t>(pairs.size()) * width;
      }
      spectral += static_cast<std::ptrdiff_t>(degrees(index)) * width;
    }
  });
}

}  // namespace scope::shallow_water
