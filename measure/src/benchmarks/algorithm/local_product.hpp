// The product of two blocks on one process: plain loops, or the BLAS.
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
  // `variant`: tuned (by the BLAS), transposed, or another one (plain loops). Throws Unavailable where tuned
  // finds no BLAS.
  explicit LocalProduct(const std::string& variant) : turned_(variant == "transposed") {
    if (variant == "tuned") dgemm_.emplace("dgemm");
  }

  // Whether B arrives transposed, so that its columns are the rows of the block.
  bool turned() const { return turned_; }

  void operator()(const Block& a, const Block& b, const Block& c, Contribution contribution) const {
    if (dgemm_ && a.columns > 0)
      with_blas(a, b, c, contribution == Contribution::first ? 0.0 : 1.0);
    else
      with_loops(a, b, c, contribution == Contribution::first);
  }

 private:
  // One implementation for all algorithms, so that their local computation is identical.
  void with_loops(const Block& a, const Block& b, const Block& c, bool first) const;
  void with_blas(const Block& a, const Block& b, const Block& c, double beta) const;

  bool turned_;
  std::optional<blas::Routine> dgemm_;
};

}  // namespace scope
