// Factorization of one panel: partial pivoting over the processes of a grid column.
#pragma once

#include <limits>

#include "benchmarks/algorithm/block_cyclic.hpp"
#include "blas/blas.hpp"

namespace scope::linpack {

// A factored panel as it is sent along the rows of the grid: its pivots, its square of factors, which is common
// to all process rows, and this process row's part of L below.
class Panel {
 public:
  // `first`: global row and column of the panel's corner; `rows`: rows of this process row, of which `above`
  // belong to the square.
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
  std::int64_t leading() const { return leading_; }        // distance between columns of `own` and `below`

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

// The candidates for one pivot are compared in an Allreduce: the larger magnitude wins, or, if equal, the upper
// row. The displaced row is sent along.
struct Candidate {
  double magnitude;
  double row;          // global
  double has_current;  // 1: from the process that has the displaced row
  // then the candidate's row, and the displaced row
  double* contents() { return &has_current + 1; }
};

inline void choose(void* mine, void* theirs, int* count, MPI_Datatype* type) {
  int bytes = 0;
  MPI_Type_size(*type, &bytes);
  const std::size_t width = (bytes / sizeof(double) - 3) / 2;
  for (int i = 0; i < *count; ++i) {
    auto* const from = reinterpret_cast<Candidate*>(static_cast<std::byte*>(mine) + std::ptrdiff_t{bytes} * i);
    auto* const into = reinterpret_cast<Candidate*>(static_cast<std::byte*>(theirs) + std::ptrdiff_t{bytes} * i);
    if (from->magnitude > into->magnitude || (from->magnitude == into->magnitude && from->row < into->row)) {
      into->magnitude = from->magnitude;
      into->row = from->row;
      std::memcpy(into->contents(), from->contents(), width * sizeof(double));
    }
    if (from->has_current != 0) {
      into->has_current = 1;
      std::memcpy(into->contents() + width, from->contents() + width, width * sizeof(double));
    }
  }
}

// Recursive: factors the left half, updates the right half, factors the right half (Toledo 1997, SIAM J. Matrix
// Anal. Appl. 18). The pivot rows are in the panel's square, identical on all processes, so that only the search
// for a pivot communicates.
class PanelFactors : NotCopied {
 public:
  // `block`: the widest panel.
  PanelFactors(const Communicator& column, const BlockCyclic& rows, int block)
      : column_(column), rows_(rows), candidate_(3 + 2 * std::size_t(block)) {
    MPI_Op_create(choose, 1, &choose_);
  }
  ~PanelFactors() { MPI_Op_free(&choose_); }

  // Factors the columns that begin at `a` (local row `top` and below). Returns the first column, counted from
  // 1 in the panel, without a pivot, or 0 if there is none. Collective over the column of the grid.
  int operator()(double* a, std::int64_t leading, std::int64_t top, Panel& panel) {
    panel_ = &panel;
    width_ = panel.width();
    owner_ = rows_.owner(panel.first()) == rows_.mine();
    top_ = top;
    m_ = static_cast<int>(rows_.local() - top);
    missing_ = 0;
    for (int j = 0; j < width_; ++j) std::copy_n(a + j * leading, m_, column(j));
    MPI_Type_contiguous(3 + 2 * width_, MPI_DOUBLE, &type_);
    MPI_Type_commit(&type_);
    factor(0, width_);
    MPI_Type_free(&type_);
    // The upper factor remains in the matrix.
    for (int j = 0; j < width_ && owner_; ++j)
      std::copy_n(panel.square() + std::ptrdiff_t{j} * width_, width_, a + j * leading);
    return missing_;
  }

 private:
  static constexpr int narrow = 8;  // columns factored one by one

  double* column(int j) { return panel_->own() + j * panel_->leading(); }
  double* square(int i, int j) { return panel_->square() + i + static_cast<std::ptrdiff_t>(j) * width_; }
  // Rows of this process that are not pivot rows after step j.
  int begin(int j) const { return owner_ ? j : 0; }

  void factor(int from, int to) {
    if (to - from <= narrow) {
      for (int j = from; j < to; ++j) eliminate(j, to);
      return;
    }
    const int middle = from + (to - from) / 2;
    const int left = middle - from;
    const int right = to - middle;
    factor(from, middle);
    solve_("L", "L", "N", "U", left, right, 1.0, square(from, from), width_, square(from, middle), width_);
    const int rows = m_ - begin(middle);
    if (rows > 0)
      multiply_("N", "N", rows, right, left, -1.0, column(from) + begin(middle), m_, square(from, middle), width_,
                1.0, column(middle) + begin(middle), m_);
    factor(middle, to);
  }

  void eliminate(int j, int to) {
    const double pivot = exchange(j);
    const int rows = m_ - begin(j + 1);
    if (pivot == 0) {
      if (missing_ == 0) missing_ = j + 1;
      return;
    }
    if (rows <= 0) return;
    double* const below = column(j) + begin(j + 1);
    // The reciprocal of a smaller pivot would overflow.
    if (std::abs(pivot) >= std::numeric_limits<double>::min())
      scale_(rows, 1 / pivot, below, 1);
    else
      for (int i = 0; i < rows; ++i) below[i] /= pivot;
    const int right = to - j - 1;
    if (right == 0) return;
    update_(rows, right, -1.0, below, 1, square(j, j + 1), width_, column(j + 1) + begin(j + 1), m_);
  }

  // Moves the row with the largest element of column j into the square, and the displaced row to its
  // position; returns the pivot.
  double exchange(int j) {
    auto* const mine = reinterpret_cast<Candidate*>(candidate_.data());
    double* const chosen = mine->contents();
    double* const current = chosen + width_;
    const int first = begin(j);
    const int rows = m_ - first;
    const int one = 1;
    *mine = {-1, -1, 0};
    if (rows > 0) {
      // If all are NaN, there is no largest element.
      const int at = first + std::max(1, search_(&rows, column(j) + first, &one)) - 1;
      mine->magnitude = std::abs(column(j)[at]);
      if (std::isnan(mine->magnitude)) mine->magnitude = std::numeric_limits<double>::infinity();
      mine->row = static_cast<double>(rows_.item(top_ + at));
      for (int k = 0; k < width_; ++k) chosen[k] = column(k)[at];
    }
    if (owner_) {
      mine->has_current = 1;
      for (int k = 0; k < width_; ++k) current[k] = column(k)[j];
    }
    if (column_.size() > 1) MPI_Allreduce(MPI_IN_PLACE, mine, 1, type_, choose_, column_.handle());
    const auto row = static_cast<std::int64_t>(mine->row);
    panel_->pivots()[j] = mine->row;
    for (int k = 0; k < width_; ++k) *square(j, k) = chosen[k];
    if (rows_.owner(row) == rows_.mine()) {
      const std::int64_t at = rows_.place(row) - top_;
      for (int k = 0; k < width_; ++k) column(k)[at] = current[k];
    }
    return *square(j, j);
  }

  const Communicator& column_;
  const BlockCyclic& rows_;
  std::vector<double> candidate_;
  Panel* panel_ = nullptr;
  int width_ = 0;
  bool owner_ = false;
  std::int64_t top_ = 0;
  int m_ = 0;
  int missing_ = 0;
  MPI_Op choose_ = MPI_OP_NULL;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  blas::Routine solve_{"dtrsm"};
  blas::Routine multiply_{"dgemm"};
  blas::Routine update_{"dger"};
  blas::Routine scale_{"dscal"};
  int (*search_)(const int*, const double*, const int*) =
      reinterpret_cast<int (*)(const int*, const double*, const int*)>(blas::address("idamax"));
};

}  // namespace scope::linpack
