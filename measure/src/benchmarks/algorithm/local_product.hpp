// The product of two blocks on one process, by plain loops or by the BLAS.
#pragma once

#include "benchmark.hpp"
#include "benchmarks/algorithm/partition.hpp"
#include "blas/blas.hpp"

namespace scope {

// A part of a matrix of doubles stored by rows; successive rows are `stride` values apart.
struct Block {
  double* data;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t stride;

  int values() const { return static_cast<int>(rows * columns); }
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
  for (std::int64_t i = 0; i < from.rows; ++i)
    std::copy_n(from.data + i * from.stride, from.columns, to.data + i * to.stride);
}

enum class Contribution { first, further };  // C = A B, or C += A B

class LocalProduct {
 public:
  // `variant`: tuned (BLAS), transposed, or any other (plain loops). Throws Unavailable for tuned if there is
  // no BLAS.
  explicit LocalProduct(const std::string& variant) : turned_(variant == "transposed") {
    if (variant == "tuned") dgemm_.emplace("dgemm");
  }

  // Whether B is received transposed, so that its columns are the rows of the block.
  bool turned() const { return turned_; }

  void operator()(const Block& a, const Block& b, const Block& c, Contribution contribution) const {
    if (dgemm_ && a.columns > 0)
      with_blas(a, b, c, contribution == Contribution::first ? 0.0 : 1.0);
    else
      with_loops(a, b, c, contribution == Contribution::first);
  }

 private:
  // One implementation for all algorithms, so that their local computation is identical.
  // The triple loop: along a row of A and a column of B, or along rows of both if B was transposed on
  // distribution (thesis, eq. G.1).
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
  // The BLAS stores by columns, so these blocks are transposed for it: C^T = B^T A^T.
  void with_blas(const Block& a, const Block& b, const Block& c, double beta) const {
    if (c.rows == 0 || c.columns == 0) return;
    const auto leading = [](const Block& block) { return static_cast<int>(block.stride); };
    (*dgemm_)("N", "N", static_cast<int>(c.columns), static_cast<int>(c.rows), static_cast<int>(a.columns), 1.0,
              b.data, leading(b), a.data, leading(a), beta, c.data, leading(c));
  }

  bool turned_;
  std::optional<blas::Routine> dgemm_;
};

}  // namespace scope
