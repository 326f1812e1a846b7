// Loops along rows of doubles by pairs, which every processor has in one register: compilers do not form them
// by themselves at the baseline's flags.
#pragma once

namespace scope::npb {

struct Pair {
  // At any multiple of 8 bytes.
  using Values = double __attribute__((vector_size(16), aligned(8), may_alias));
  static constexpr int count = 2;
  static Values load(const double* at) { return *reinterpret_cast<const Values*>(at); }
  static void store(double* at, Values values) { *reinterpret_cast<Values*>(at) = values; }
};

struct Single {
  using Values = double;
  static constexpr int count = 1;
  static double load(const double* at) { return *at; }
  static void store(double* at, double value) { *at = value; }
};

// result[x] = value of the terms at x, for x from `begin` to before `end`; `value_at` is called with a
// function that loads what stands at x from a given beginning.
template <class ValueAt>
[[gnu::always_inline]] inline void along(double* result, int begin, int end, ValueAt value_at) {
  int x = begin;
  for (; x + Pair::count <= end; x += Pair::count) {
    Pair::store(result + x, value_at([x](const double* at) { return Pair::load(at + x); }));
  }
  for (; x < end; ++x) {
    Single::store(result + x, value_at([x](const double* at) { return Single::load(at + x); }));
  }
}

}  // namespace scope::npb
