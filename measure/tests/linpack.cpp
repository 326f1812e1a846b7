#include <cmath>
#include <vector>

#include "benchmarks/algorithm/linpack/hpl_matrix.hpp"
#include "benchmarks/algorithm/linpack/row_exchange.hpp"
#include "check.hpp"

using scope::linpack::HplMatrix;
using scope::linpack::RowExchange;

namespace {

// Any piece of any column is a piece of one sequence, on any process.
void pieces_of_the_matrix_are_pieces_of_one_sequence() {
  constexpr std::int64_t n = 7;
  const HplMatrix matrix(n, HplMatrix::Kind::regular);
  std::uint64_t state = 100;
  for (std::int64_t place = 0; place < n * (n + 1); ++place) {
    double value = 0;
    matrix.each(place % n, place / n, 1, [&](std::int64_t, double made) { value = made; });
    CHECK(value == 0.5 - std::ldexp(static_cast<double>(state), -64));
    state = 6364136223846793005u * state + 1;
  }
}

void altered_matrices_differ_in_the_middle_only() {
  const HplMatrix regular(5, HplMatrix::Kind::regular);
  for (const auto kind : {HplMatrix::Kind::singular, HplMatrix::Kind::not_a_number}) {
    const HplMatrix altered(5, kind);
    for (std::int64_t column = 0; column <= 5; ++column) {
      std::vector<double> right(5);
      regular.each(0, column, 5, [&](std::int64_t i, double value) { right[i] = value; });
      altered.each(0, column, 5, [&](std::int64_t i, double value) {
        const bool zero = kind == HplMatrix::Kind::singular && column == 2;
        const bool none = kind == HplMatrix::Kind::not_a_number && column == 2 && i == 2;
        CHECK(none ? std::isnan(value) : value == (zero ? 0 : right[i]));
      });
    }
  }
}

// The combined exchange of rows equals the sequence of single exchanges.
void exchange_at_once_is_exchange_one_by_one() {
  const std::vector<std::vector<double>> all = {{3, 4, 5}, {9, 9, 9},       {5, 4, 9},
                                                {9, 5, 9}, {11, 3 + 5, 11}, {5, 5, 5}};
  for (const auto& pivots : all) {
    std::vector<std::int64_t> rows(12);
    for (int i = 0; i < 12; ++i) rows[i] = i;
    for (int j = 0; j < 3; ++j) std::swap(rows[3 + j], rows[static_cast<int>(pivots[j])]);
    const RowExchange exchange(3, pivots.data(), 3);
    std::vector<std::int64_t> found(12);
    for (int i = 0; i < 12; ++i) found[i] = i;
    for (int j = 0; j < 3; ++j) found[3 + j] = exchange.sources[j];
    for (const auto& [to, from] : exchange.displaced) {
      CHECK(from >= 3 && from < 6);
      found[to] = from;
    }
    CHECK(found == rows);
  }
}

}  // namespace

int main() {
  pieces_of_the_matrix_are_pieces_of_one_sequence();
  altered_matrices_differ_in_the_middle_only();
  exchange_at_once_is_exchange_one_by_one();
  return scope::testing::failures;
}
