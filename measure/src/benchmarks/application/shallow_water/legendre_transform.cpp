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

// Four rows of the result in two or three vectors each: eight independent sums hide the latency of additions, and
// twelve fill sixteen registers with what they are made of, where a product needs none of its own.
constexpr int rows_together = 4;
template <int lanes>
constexpr int vectors_together = lanes > 2 ? 3 : 2;

// `rows` x `columns` += (or =) a b. Rows of a product, whose elements are `width` apart or more:
// result[row][column] += sum over k of a[k * a_step + row * a_row] b[k * b_step + column].
struct Product {
  const double* a;
  std::ptrdiff_t a_row;
  std::ptrdiff_t a_step;
  const double* b;
  std::ptrdiff_t b_step;
  double* result;
  std::ptrdiff_t result_row;
  int inner;
  bool accumulates;

  // Vectors from `first` on; the last one of all ends with the columns, and may overlap the one before.
  template <int rows, int vectors, class Real>
  SCOPE_INLINE void block(int row, int first, int columns) const {
    constexpr int lanes = npb::lanes_of<Real>;
    int column[vectors];
    each<vectors>([&](auto v) SCOPE_INLINE { column[v] = std::min(first + v * lanes, columns - lanes); });
    double* const to = result + row * result_row;
    Real sums[rows][vectors];
    each<rows>([&](auto r) SCOPE_INLINE {
      each<vectors>([&](auto v) SCOPE_INLINE {
        sums[r][v] = accumulates ? load<Real>(to + r * result_row + column[v]) : Real{};
      });
    });
    const double* left = a + row * a_row;
    const double* right = b;
    for (int k = 0; k < inner; ++k, left += a_step, right += b_step) {
      Real values[vectors];
      each<vectors>([&](auto v) SCOPE_INLINE { values[v] = load<Real>(right + column[v]); });
      each<rows>([&](auto r) SCOPE_INLINE {
        const double factor = left[r * a_row];
        each<vectors>([&](auto v) SCOPE_INLINE { sums[r][v] += factor * values[v]; });
      });
    }
    each<rows>([&](auto r) SCOPE_INLINE {
      each<vectors>([&](auto v) SCOPE_INLINE { store(to + r * result_row + column[v], sums[r][v]); });
    });
  }

  // Blocks of several vectors, so that those that overlap are in one block, which adds to their columns once. Vectors
  // of two do not overlap: columns are real and imaginary parts.
  template <int rows, int lanes>
  SCOPE_INLINE void band(int row, int columns) const {
    using Real = typename npb::Vector<lanes>::Type;
    constexpr int together = vectors_together<lanes>;
    int left = (columns + lanes - 1) / lanes;
    int column = 0;
    if (columns < lanes) {
      for (; column < columns; ++column) block<rows, 1, double>(row, column, columns);
      return;
    }
    for (; left >= together && left != together + 1; left -= together, column += together * lanes)
      block<rows, together, Real>(row, column, columns);
    for (; left >= 2; left -= 2, column += 2 * lanes) block<rows, 2, Real>(row, column, columns);
    if (left == 1) block<rows, 1, Real>(row, column, columns);
  }

  template <int lanes>
  SCOPE_INLINE void run(int rows, int columns) const {
    int row = 0;
    for (; row + rows_together <= rows; row += rows_together) band<rows_together, lanes>(row, columns);
    for (; row + 2 <= rows; row += 2) band<2, lanes>(row, columns);
    for (; row < rows; ++row) band<1, lanes>(row, columns);
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
        const Product product{functions(index, parity, pairs.begin),
                              1,
                              rows,
                              fourier,
                              width,
                              spectral + parity * width,
                              2 * static_cast<std::ptrdiff_t>(width),
                              pairs.size(),
                              true};
        product.run<lanes>(rows, width);
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
                              rows,
                              1,
                              spectral + parity * width,
                              2 * static_cast<std::ptrdiff_t>(width),
                              fourier,
                              width,
                              rows,
                              false};
        product.run<lanes>(pairs.size(), width);
        fourier += static_cast<std::ptrdiff_t>(pairs.size()) * width;
      }
      spectral += static_cast<std::ptrdiff_t>(degrees(index)) * width;
    }
  });
}

}  // namespace scope::shallow_water
