#pragma once

#include "benchmark.hpp"

namespace scope {

// The parameter of a `ProcessGrid`.
inline Parameter grid_rows() {
  return integer("rows", "", 0, 0, 1'000'000,
                 "rows of the grid of processes; 0: as square as their number allows");
}

}  // namespace scope
