// Arithmetic on several doubles at once, by vectors of the compiler: the formulas are written once for a type
// `Real` that is a double or a vector of 2, 4 or 8 of them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

namespace scope::npb {

using Stride = std::ptrdiff_t;

template <int lanes>
struct Vector {
  typedef double Type __attribute__((vector_size(lanes * sizeof(double))));
};
template <>
struct Vector<1> {
  using Type = double;
};

constexpr int most_lanes = 8;
template <class Real>
constexpr int lanes_of = static_cast<int>(sizeof(Real) / sizeof(double));

// Calls `action` with 0 ... count-1 as constants.
template <int count, class Action>
[[gnu::always_inline]] inline void each(Action&& action) {
  [&]<int... index>(std::integer_sequence<int, index...>) __attribute__((always_inline)) {
    (action(std::integral_constant<int, index>{}), ...);
  }(std::make_integer_sequence<int, count>{});
}

// Neighbours in memory.
template <class Real>
[[gnu::always_inline]] inline Real load(const double* from) {
  Real value;
  std::memcpy(&value, from, sizeof(Real));
  return value;
}
template <class Real>
[[gnu::always_inline]] inline void store(double* to, const Real& value) {
  std::memcpy(to, &value, sizeof(Real));
}

// Items `apart` doubles from each other.
template <class Real>
[[gnu::always_inline]] inline Real gather(const double* from, Stride apart) {
  if constexpr (lanes_of<Real> == 1) {
    return *from;
  } else {
    Real value;
    each<lanes_of<Real>>([&](auto lane)
                             __attribute__((always_inline)) { value[int{lane}] = from[lane * apart]; });
    return value;
  }
}
template <class Real>
[[gnu::always_inline]] inline void scatter(double* to, Stride apart, const Real& value) {
  if constexpr (lanes_of<Real> == 1) {
    *to = value;
  } else {
    each<lanes_of<Real>>([&](auto lane)
                             __attribute__((always_inline)) { to[lane * apart] = value[int{lane}]; });
  }
}

template <class Real>
[[gnu::always_inline]] inline Real larger(const Real& a, const Real& b) {
  return a > b ? a : b;
}

template <class Real>
[[gnu::always_inline]] inline Real square_root(const Real& of) {
  if constexpr (lanes_of<Real> == 1) {
    return std::sqrt(of);
  } else {
    Real value;
    each<lanes_of<Real>>([&](auto lane)
                             __attribute__((always_inline)) { value[int{lane}] = std::sqrt(of[int{lane}]); });
    return value;
  }
}

// Stands for so many lanes where a function is to be told by an argument.
template <int lanes>
struct Lanes {
  static constexpr int count = lanes;
  using Real = typename Vector<lanes>::Type;
};

// Calls `action` for begin ... end-1 in runs of `widest` lanes, the rest in narrower ones.
template <int widest, class Action>
[[gnu::always_inline]] inline void in_runs(int begin, int end, Action&& action) {
  int at = begin;
  for (; at + widest <= end; at += widest) action(Lanes<widest>{}, at);
  if constexpr (widest > 1) in_runs<widest / 2>(at, end, action);
}

enum class Width { bits_128, bits_256, bits_512 };

// The widest vectors of this processor.
inline Width widest_vectors() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return Width::bits_512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Width::bits_256;
#endif
  return Width::bits_128;
}

// What stands in `job` is compiled as a whole for each width, whatever the flags of the build.
#if defined(__x86_64__)
template <class Job>
[[gnu::target("avx512f"), gnu::flatten, gnu::noinline]] void by_512_bits(Job& job) {
  job.template operator()<8>();
}
template <class Job>
[[gnu::target("avx2,fma"), gnu::flatten, gnu::noinline]] void by_256_bits(Job& job) {
  job.template operator()<4>();
}
#endif
template <class Job>
[[gnu::flatten, gnu::noinline]] void by_128_bits(Job& job) {
  job.template operator()<2>();
}

// Does `job`, a lambda with a template parameter for the lanes: in_lanes(width, [&]<int lanes>() { ... }).
template <class Job>
void in_lanes(Width width, Job&& job) {
#if defined(__x86_64__)
  if (width == Width::bits_512) return by_512_bits(job);
  if (width == Width::bits_256) return by_256_bits(job);
#endif
  (void)width;
  by_128_bits(job);
}

}  // namespace scope::npb
