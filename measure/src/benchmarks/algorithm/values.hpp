// Doubles in new memory from the operating system, and the matrices that algorithms multiply.
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

using Make = void (*)(double* values, std::int64_t count, std::uint64_t seed);

// In steps of a fixed length, which compilers vectorize if vector instructions can multiply whole words.
[[gnu::always_inline]] inline void make_in_steps(double* values, std::int64_t count, std::uint64_t seed) {
  constexpr std::int64_t step = 64;
  std::int64_t at = 0;
  for (; at + step <= count; at += step)
    for (std::int64_t i = 0; i < step; ++i) values[at + i] = matrix_value(seed, at + i);
  for (; at < count; ++at) values[at] = matrix_value(seed, at);
}

#if defined(__x86_64__)
[[gnu::target("avx512f,avx512dq")]] inline void make_as_vectors(double* values, std::int64_t count,
                                                                std::uint64_t seed) {
  make_in_steps(values, count, seed);
}
#endif

inline void make_one_by_one(double* values, std::int64_t count, std::uint64_t seed) {
  for (std::int64_t at = 0; at < count; ++at) values[at] = matrix_value(seed, at);
}

inline Make fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return make_as_vectors;
#endif
  return make_one_by_one;
}

// Makes the values of places 0, 1, ... as fast as the processor can, because this is timed.
inline void make_matrix(std::span<double> values, std::uint64_t seed) {
  static const Make make = fastest();
  make(values.data(), static_cast<std::int64_t>(values.size()), seed);
}

}  // namespace scope
