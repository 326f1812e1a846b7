#pragma once

#include "benchmark.hpp"

namespace scope {

// The parameter that sets the rows of a `ProcessGrid`.
inline Parameter grid_rows() {
  return parallel("grid_rows", "ranks", 0, 0, 1'000'000, "rows of the process grid; 0: the squarest grid")
      .worded("1=1 grid row,{} grid rows");
}

}  // namespace scope
