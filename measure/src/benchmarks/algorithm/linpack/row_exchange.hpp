#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace scope::linpack {

// What the pivots of one panel do to the rows of the other columns, all at once.
struct RowExchange {
  // The rows `first`, `first` + 1, ... are exchanged one after another with those that `pivots` name.
  RowExchange(std::int64_t first, const double* pivots, int count) : sources(count) {
    for (int j = 0; j < count; ++j) sources[j] = first + j;
    for (int j = 0; j < count; ++j) {
      const auto row = static_cast<std::int64_t>(pivots[j]);
      if (row < first + count) {
        std::swap(sources[j], sources[row - first]);
        continue;
      }
      const auto known = std::find_if(displaced.begin(), displaced.end(),
                                      [&](const auto& each) { return each.first == row; });
      if (known != displaced.end()) {
        std::swap(sources[j], known->second);
      } else {
        displaced.emplace_back(row, std::exchange(sources[j], row));
      }
    }
    std::sort(displaced.begin(), displaced.end());
  }

  // Which row comes to the j-th place of the panel.
  std::vector<std::int64_t> sources;
  // Rows outside the panel's that get one of the panel's: to, from.
  std::vector<std::pair<std::int64_t, std::int64_t>> displaced;
};

}  // namespace scope::linpack
