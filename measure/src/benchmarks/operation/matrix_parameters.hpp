// The parameters that all operations on matrices have.
#pragma once

#include "benchmark.hpp"

namespace scope {

inline Parameter matrix_order() {
  return size("n", "", 120, 1, 16384, "matrix order N: N x N doubles").labeled("matrix order").worded("N = {}");
}

inline Parameter buffers() {
  return layout("buffers", "cold,warm", "cold (first-touch) buffers for every operation, or the same warm buffers")
      .worded("cold buffers,warm buffers");
}

}  // namespace scope
