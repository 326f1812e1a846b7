#include "benchmarks/algorithm/local_product.hpp"

namespace scope {

// The triple loop: along a row of A and a column of B, or along rows of both where B was transposed on
// distribution (thesis, eq. G.1).
void LocalProduct::with_loops(const Block& a, const Block& b, const Block& c, bool first) const {
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

// The BLAS stores by columns: there these blocks are transposed, and C^T = B^T A^T.
void LocalProduct::with_blas(const Block& a, const Block& b, const Block& c, double beta) const {
  if (c.rows == 0 || c.columns == 0) return;
  const auto leading = [](const Block& block) { return static_cast<int>(block.stride); };
  (*dgemm_)("N", "N", static_cast<int>(c.columns), static_cast<int>(c.rows), static_cast<int>(a.columns), 1.0,
            b.data, leading(b), a.data, leading(a), beta, c.data, leading(c));
}

}  // namespace scope
