// Plain: vectors that every processor of this architecture has, as in the baseline flags. Tuned: the widest
// of this processor up to 256 bits.
#pragma once

#include "benchmark.hpp"
#include "benchmarks/application/npb/vectors.hpp"

namespace scope::npb {

inline Parameter vector_variant() {
  return method("variant", "plain,tuned", "128-bit vectors, or 256-bit where all processors have them")
      .worded(",tuned");
}

// One width for all processes, because messages contain numbers in lane order. Collective.
inline Width width_of(const Parameters& parameters, const Communicator& communicator) {
  const Width here = parameters.choice("variant") == "tuned" ? widest_vectors() : Width::bits_128;
  return static_cast<Width>(communicator.smallest(static_cast<int>(here)));
}

}  // namespace scope::npb
