// Plain: portable loops over single numbers, as used for the published results. Tuned: vectors.
#pragma once

#include "benchmark.hpp"
#include "benchmarks/application/npb/vectors.hpp"

namespace scope::npb {

inline Parameter vector_variant() {
  return method("variant", "plain,tuned", "portable loops, or 256-bit vectors if all processors support them")
      .worded(",tuned");
}

// The same width for all processes, because messages contain numbers in lane order. Collective.
inline Width width_of(const Parameters& parameters, const Communicator& communicator) {
  const Width here = parameters.choice("variant") == "tuned" ? widest_vectors() : Width::scalar;
  return static_cast<Width>(communicator.smallest(static_cast<int>(here)));
}

}  // namespace scope::npb
