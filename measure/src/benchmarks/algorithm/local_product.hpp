// The product of two blocks on one process: plain loops, or the BLAS.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "benchmark.hpp"
#include "benchmarks/algorithm/partition.hpp"
#include "blas/blas.hpp"

namespace scope {

// A part of a matrix of doubles stored by rows; from one row to the next it is `stride` values.
struct Block {
  double* data;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t stride;

  Block part(std::int64_t row, std::int64_t column, std::int64_t height, std::int64_t width) const {
    return {data + row * stride + column, height, width, stride};
  }
  Block band(const Partition& bands, int index) const {
    return part(bands.begin(index), 0, bands.size(index), columns);
  }
};

inline Block dense(double* data, std::int64_t rows, std::int64_t columns) {
  return {data, rows, columns, columns};
}

inline void copy(const Block& from, const Block& to) {
  for (std::int64_t i = 0; i < from.rows; ++i) {
    std::copy_n(from.data + i * from.stride, from.columns, to.data + i * to.stride);
  }
}

enum class Contribution { first, further };  // C = A B, or C += A B

class LocalProduct {
 public:
  // `variant`: plain, transposed or tuned. Throws Unavailable where tuned finds no BLAS.
  explicit LocalProduct(const std::string& variant) : turned_(variant == "transposed") {
    if (variant == "tuned") dgemm_ = blas::routine<MatrixMultiply<double>>("dgemm");
  }

  // Whether B comes transposed: its columns are then the rows of the block.
  bool turned() const { return turned_; }

  void operator()(const Block& a, const Block& b, const Block& c, Contribution contribution) const {
    if (dgemm_ != nullptr && a.columns > 0) {
      with_blas(a, b, c, contribution == Contribution::first ? 0.0 : 1.0);
    } else {
      with_loops(a, b, c, contribution == Contribution::first);
    }
  }

 private:
  // The triple loop: along a row of A and a column of B, or along rows of both where B came transposed
  // (thesis, eq. G.1).
  void with_loops(const Block& a, const Block& b, const Block& c, bool first) const {
    for (std::int64_t i = 0; i < c.rows; ++i) {
      const double* row = a.data + i * a.stride;
      for (std::int64_t j = 0; j < c.columns; ++j) {
        double& result = c.data[i * c.stride + j];
        double sum = first ? 0.0 : result;
        if (turned_) {
          const double* column = b.data + j * b.stride;
          for (std::int64_t k = 0; k < a.columns; ++k) sum += row[k] * column[k];
        } else {
          const double* column = b.data + j;
          for (std::int64_t k = 0; k < a.columns; ++k) sum += row[k] * column[k * b.stride];
        }
        result = sum;
      }
    }
  }

  // The BLAS stores by columns; there these blocks are transposed, and C^T = B^T A^T.
  void with_blas(const Block& a, const Block& b, const Block& c, double beta) const {
    if (c.rows == 0 || c.columns == 0) return;
    const int m = static_cast<int>(c.columns);
    const int n = static_cast<int>(c.rows);
    const int k = static_cast<int>(a.columns);
    const int leading_a = static_cast<int>(a.stride);
    const int leading_b = static_cast<int>(b.stride);
    const int leading_c = static_cast<int>(c.stride);
    const double one = 1;
    dgemm_("N", "N", &m, &n, &k, &one, b.data, &leading_b, a.data, &leading_a, &beta, c.data, &leading_c, 1,
           1);
  }

  bool turned_;
  MatrixMultiply<double>* dgemm_ = nullptr;
};

}  // namespace scope
