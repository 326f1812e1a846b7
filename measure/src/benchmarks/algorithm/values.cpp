#include "benchmarks/algorithm/values.hpp"

namespace scope {
namespace {

using Make = void (*)(double* values, std::int64_t count, std::uint64_t seed);

// In steps of a fixed length, which compilers translate into vectors where vectors multiply whole words.
[[gnu::always_inline]] inline void make_in_steps(double* values, std::int64_t count, std::uint64_t seed) {
  constexpr std::int64_t step = 64;
  std::int64_t at = 0;
  for (; at + step <= count; at += step)
    for (std::int64_t i = 0; i < step; ++i) values[at + i] = matrix_value(seed, at + i);
  for (; at < count; ++at) values[at] = matrix_value(seed, at);
}

#if defined(__x86_64__)
[[gnu::target("avx512f,avx512dq")]] void make_as_vectors(double* values, std::int64_t count, std::uint64_t seed) {
  make_in_steps(values, count, seed);
}
#endif

void make_one_by_one(double* values, std::int64_t count, std::uint64_t seed) {
  for (std::int64_t at = 0; at < count; ++at) values[at] = matrix_value(seed, at);
}

Make fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return make_as_vectors;
#endif
  return make_one_by_one;
}

}  // namespace

void make_matrix(std::span<double> values, std::uint64_t seed) {
  static const Make make = fastest();
  make(values.data(), static_cast<std::int64_t>(values.size()), seed);
}

}  // namespace scope
