#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace scope::linpack {

// A factored panel as it travels along the rows of the grid: its pivots, its square of factors, shared by all
// process rows, and this process row's part of L below.
class Panel {
 public:
  // `first`: global row and column of its corner; `rows`: rows of this process row, of which `above` belong
  // to the square.
  void shape(std::int64_t first, int width, std::int64_t rows, std::int64_t above) {
    first_ = first;
    width_ = width;
    above_ = above;
    leading_ = rows;
    values_.resize(static_cast<std::size_t>(width) * (1 + width + rows));
  }

  std::int64_t first() const { return first_; }
  int width() const { return width_; }
  std::int64_t rows() const { return leading_ - above_; }  // below the square
  std::int64_t leading() const { return leading_; }        // from column to column of `own` and `below`

  double* pivots() { return values_.data(); }  // global rows
  double* square() { return pivots() + width_; }
  // The rows of this process row; in the end those above `below` are meaningless.
  double* own() { return square() + std::int64_t{width_} * width_; }
  double* below() { return own() + above_; }
  std::span<double> message() { return values_; }

 private:
  std::int64_t first_ = 0;
  int width_ = 0;
  std::int64_t above_ = 0;
  std::int64_t leading_ = 0;
  std::vector<double> values_;
};

}  // namespace scope::linpack
