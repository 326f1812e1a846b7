// Arithmetic on several doubles at once with the compiler's vector types: formulas are written once for a type
// `Real`, which is a double or a vector of 2 or 4 doubles.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>

// All code that takes or returns vectors is inlined into `in_lanes`, which is compiled for the target processor;
// large functions and lambdas need an attribute for that. Sanitizers take minutes to compile code of this size,
// and without optimization vectors would be passed between functions for different processors: both cases use only
// vectors that every processor of the architecture has.
#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
#define SCOPE_NARROW
#define SCOPE_INLINE
#define SCOPE_WHOLE
#else
#define SCOPE_INLINE __attribute__((always_inline))
#define SCOPE_WHOLE [[gnu::flatten]]
#endif

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

constexpr int most_lanes = 4;
template <class Real>
constexpr int lanes_of = static_cast<int>(sizeof(Real) / sizeof(double));

// Calls `action` with 0 ... count-1 as constants. Written out because integer sequences take longer to compile.
template <int count, class Action>
SCOPE_INLINE inline void each(Action&& action) {
  static_assert(count <= 8);
  if constexpr (count > 0) action(std::integral_constant<int, 0>{});
  if constexpr (count > 1) action(std::integral_constant<int, 1>{});
  if constexpr (count > 2) action(std::integral_constant<int, 2>{});
  if constexpr (count > 3) action(std::integral_constant<int, 3>{});
  if constexpr (count > 4) action(std::integral_constant<int, 4>{});
  if constexpr (count > 5) action(std::integral_constant<int, 5>{});
  if constexpr (count > 6) action(std::integral_constant<int, 6>{});
  if constexpr (count > 7) action(std::integral_constant<int, 7>{});
}

// Loads adjacent items.
template <class Real>
SCOPE_INLINE inline Real load(const double* from) {
  Real value;
  std::memcpy(&value, from, sizeof(Real));
  return value;
}
template <class Real>
SCOPE_INLINE inline void store(double* to, const Real& value) {
  std::memcpy(to, &value, sizeof(Real));
}

template <class Real>
SCOPE_INLINE inline double number(const Real& value, int lane) {
  if constexpr (lanes_of<Real> == 1)
    return value;
  else
    return value[lane];
}
template <class Real>
SCOPE_INLINE inline void set_number(Real& value, int lane, double number) {
  if constexpr (lanes_of<Real> == 1)
    value = number;
  else
    value[lane] = number;
}

// Loads items that are `apart` doubles from each other.
template <class Real>
SCOPE_INLINE inline Real gather(const double* from, Stride apart) {
  Real value;
  each<lanes_of<Real>>([&](auto lane) SCOPE_INLINE { set_number(value, lane, from[lane * apart]); });
  return value;
}
template <class Real>
SCOPE_INLINE inline void scatter(double* to, Stride apart, const Real& value) {
  each<lanes_of<Real>>([&](auto lane) SCOPE_INLINE { to[lane * apart] = number(value, lane); });
}

template <class Real>
SCOPE_INLINE inline Real square_root(const Real& of) {
  Real value;
  each<lanes_of<Real>>([&](auto lane) SCOPE_INLINE { set_number(value, lane, std::sqrt(number(of, lane))); });
  return value;
}

// Passes a number of lanes as a function argument.
template <int lanes>
struct Lanes {
  static constexpr int count = lanes;
  using Real = typename Vector<lanes>::Type;
};

// Calls `action(Lanes, at)` for begin ... end-1, in runs of `widest` lanes, then one by one for the remainder.
template <int widest, class Action>
SCOPE_INLINE inline void in_runs(int begin, int end, Action&& action) {
  int at = begin;
  for (; at + widest <= end; at += widest) action(Lanes<widest>{}, at);
  for (; at < end; ++at) action(Lanes<1>{}, at);
}

enum class Width { scalar, vectors };

// On x86-64 vectors have 256 bits, which not every processor supports; wider ones would double the compile time.
// On other architectures they have 128 bits.
#if defined(__x86_64__) && !defined(SCOPE_NARROW)
#define SCOPE_VECTORS [[gnu::target("avx2,fma")]]
constexpr int vector_lanes = 4;
inline Width widest_vectors() {
  const bool here = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return here ? Width::vectors : Width::scalar;
}
#else
#define SCOPE_VECTORS
constexpr int vector_lanes = 2;
inline Width widest_vectors() { return Width::vectors; }
#endif

// The body of `job` is compiled as a whole for each width, regardless of the build flags.
template <class Job>
SCOPE_WHOLE SCOPE_VECTORS [[gnu::noinline]] void by_vectors(Job& job) {
  job.template operator()<vector_lanes>();
}
template <class Job>
SCOPE_WHOLE [[gnu::noinline]] void by_scalars(Job& job) {
  job.template operator()<1>();
}

// Runs `job`, a lambda with a template parameter for the lanes: in_lanes(width, [&]<int lanes>() { ... }).
template <class Job>
void in_lanes(Width width, Job&& job) {
  width == Width::vectors ? by_vectors(job) : by_scalars(job);
}

}  // namespace scope::npb
