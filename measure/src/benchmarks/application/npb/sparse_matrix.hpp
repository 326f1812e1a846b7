// The random sparse matrix of kernel CG, and its product with a vector.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "benchmarks/application/npb/random_numbers.hpp"

namespace scope::npb {

// Rows one after another (compressed sparse rows).
struct SparseMatrix {
  std::vector<std::int64_t> begins{0};  // of each row, and the end of the last
  std::vector<std::int32_t> columns;
  std::vector<double> values;

  int rows() const { return static_cast<int>(begins.size()) - 1; }

  // `result` = matrix `vector`.
  void multiply(const double* vector, double* result) const {
    const std::int32_t* const column = columns.data();
    const double* const value = values.data();
    for (int row = 0; row < rows(); ++row) {
      // Four partial sums, so that additions are independent.
      double sums[4] = {0, 0, 0, 0};
      std::int64_t k = begins[row];
      const std::int64_t end = begins[row + 1];
      for (; k + 4 <= end; k += 4) {
        sums[0] += value[k] * vector[column[k]];
        sums[1] += value[k + 1] * vector[column[k + 1]];
        sums[2] += value[k + 2] * vector[column[k + 2]];
        sums[3] += value[k + 3] * vector[column[k + 3]];
      }
      for (; k < end; ++k) sums[0] += value[k] * vector[column[k]];
      result[row] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
  }
};

// A sum of outer products of sparse random vectors, weighted so that the eigenvalues lie between 1 and the
// reciprocal condition number, minus a shift on the diagonal (RNR-94-007, section 2.2.2).
class RandomMatrix {
 public:
  // `nonzeros` of each vector, besides the diagonal one.
  RandomMatrix(int order, int nonzeros, double shift) : shift_(shift), vectors_(order), vectors_with_(order) {
    RandomNumbers random(314159265);
    random.next();  // NPB draws one number before
    const auto power_of_two = static_cast<double>(std::bit_ceil(static_cast<unsigned>(order)));
    std::vector<int> last_in(order, -1);  // the last vector with a value at each position
    for (int k = 0; k < order; ++k) {
      auto& vector = vectors_[k];
      while (static_cast<int>(vector.size()) < nonzeros) {
        const double value = random.next();
        const int place = static_cast<int>(power_of_two * random.next());
        if (place >= order || last_in[place] == k) continue;
        last_in[place] = k;
        vector.push_back({place, value});
      }
      set_diagonal(vector, k);
      for (const Element& element : vector) vectors_with_[element.place].push_back({k, element.value});
    }
  }

  // Rows [begin, end), and of these the columns whose position in the product's input is not negative.
  SparseMatrix block(int begin, int end, std::span<const int> place_of_column) const {
    SparseMatrix block;
    const int order = static_cast<int>(vectors_.size());
    const double ratio = std::pow(reciprocal_condition, 1.0 / order);
    std::vector<double> weights(order, 1.0);
    for (int k = 1; k < order; ++k) weights[k] = weights[k - 1] * ratio;

    std::vector<double> row(order, 0.0);
    std::vector<char> filled(order, 0);
    std::vector<std::pair<int, int>> entries;  // position, column
    for (int i = begin; i < end; ++i) {
      entries.clear();
      for (const auto& [k, own_value] : vectors_with_[i]) {
        for (const auto& [column, value] : vectors_[k]) {
          if (place_of_column[column] < 0) continue;
          if (!filled[column]) entries.push_back({place_of_column[column], column});
          filled[column] = 1;
          row[column] += value * (weights[k] * own_value);
          if (column == i && k == i) row[column] += reciprocal_condition - shift_;
        }
      }
      std::sort(entries.begin(), entries.end());
      for (const auto& [place, column] : entries) {
        block.columns.push_back(place);
        block.values.push_back(row[column]);
        row[column] = 0;
        filled[column] = 0;
      }
      block.begins.push_back(static_cast<std::int64_t>(block.values.size()));
    }
    return block;
  }

 private:
  struct Element {
    int place;
    double value;
  };
  using SparseVector = std::vector<Element>;
  static constexpr double reciprocal_condition = 0.1;

  // The element at `place` becomes 1/2.
  static void set_diagonal(SparseVector& vector, int place) {
    const auto there =
        std::find_if(vector.begin(), vector.end(), [&](const Element& element) { return element.place == place; });
    if (there == vector.end())
      vector.push_back({place, 0.5});
    else
      there->value = 0.5;
  }

  double shift_;
  std::vector<SparseVector> vectors_;
  // For each row, the vectors with an element there, and its value.
  std::vector<SparseVector> vectors_with_;
};

}  // namespace scope::npb
