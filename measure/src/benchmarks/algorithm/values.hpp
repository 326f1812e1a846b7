// Doubles in memory fresh from the operating system, and the matrices that algorithms multiply.
#pragma once

#include <cstdint>
#include <span>

#include "memory/buffer.hpp"

namespace scope {

class Values {
 public:
  explicit Values(std::int64_t count) : buffer_(static_cast<std::size_t>(count) * sizeof(double)) {}

  std::span<double> all() { return buffer_.as<double>(); }
  double* data() { return buffer_.as<double>().data(); }
  std::span<std::byte> bytes() { return buffer_.bytes(); }

  void map() { buffer_.map(); }

 private:
  Buffer buffer_;
};

// A value in [-0.5, 0.5] that depends only on the seed and the position, on any process.
inline double matrix_value(std::uint64_t seed, std::int64_t place) {
  return static_cast<double>(static_cast<std::int64_t>(pattern_word(seed, static_cast<std::uint64_t>(place)))) *
         0x1p-64;
}

// Those of places 0, 1, ..., as fast as the processor can: their time counts.
void make_matrix(std::span<double> values, std::uint64_t seed);

}  // namespace scope
