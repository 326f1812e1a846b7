#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace scope::linpack {

// The combined effect of one panel's pivots on the rows of the other columns.
struct RowExchange {
  // The rows `first`, `first` + 1, ... are exchanged one after another with the rows in `pivots`.
  RowExchange(std::int64_t first, const double* pivots, int count) : sources(count) {
    for (int j = 0; j < count; ++j) sources[j] = first + j;
    for (int j = 0; j < count; ++j) {
      const auto row = static_cast<std::int64_t>(pivots[j]);
      if (row < first + count) {
        std::swap(sources[j], sources[row - first]);
        continue;
      }
      const auto known = std::find_if(displaced.begin(), displaced.end(),
                                      [&](const auto& exchange) { return exchange.first == row; });
      if (known != displaced.end())
        std::swap(sources[j], known->second);
      else
        displaced.emplace_back(row, std::exchange(sources[j], row));
    }
    std::sort(displaced.begin(), displaced.end());
  }

  // The source row of the panel's j-th row.
  std::vector<std::int64_t> sources;
  // Rows outside the panel that receive one of the panel's: to, from.
  std::vector<std::pair<std::int64_t, std::int64_t>> displaced;
};

}  // namespace scope::linpack
