// The widest fused multiply-add of this processor, in registers, whose rate no program can exceed.
#pragma once

#ifdef __aarch64__
#include <sys/prctl.h>
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "unavailable.hpp"

namespace scope::multiply_add {

// Latency times units is 8 to 10 in current processors; the rest of 16 registers is for the operands.
inline constexpr std::size_t chains = 12;
inline constexpr std::int64_t rounds = 5000;
inline constexpr std::size_t widest_bytes = 64;

template <class Real>
using Sums = std::array<Real, chains * widest_bytes / sizeof(Real)>;

template <class Real>
struct Kernel {
  std::size_t bytes;  // of a vector
  void (*run)(Sums<Real>& sums, Real factor, Real term);
};

template <class Real, std::size_t bytes>
struct Wide {
  typedef Real Vector __attribute__((vector_size(bytes)));
};

// The compiler's multiplication and addition, fused if the build flags allow it.
struct Compiled {
  template <class Vector>
  [[gnu::always_inline]] static inline void step(Vector& sum, const Vector& factor, const Vector& term) {
    sum = sum * factor + term;
  }
};

// sum += factor * term in one instruction; on x86-64 the register names determine the width.
struct Fused {
  template <class Vector>
  [[gnu::always_inline]] static inline void step([[maybe_unused]] Vector& sum,
                                                 [[maybe_unused]] const Vector& factor,
                                                 [[maybe_unused]] const Vector& term) {
    [[maybe_unused]] constexpr bool is_double = sizeof(sum[0]) == sizeof(double);
#if defined(__x86_64__)
    if constexpr (is_double)
      asm volatile("vfmadd231pd %2, %1, %0" : "+v"(sum) : "v"(factor), "v"(term));
    else
      asm volatile("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(factor), "v"(term));
#elif defined(__aarch64__)
    if constexpr (is_double)
      asm volatile("fmla %0.2d, %1.2d, %2.2d" : "+w"(sum) : "w"(factor), "w"(term));
    else
      asm volatile("fmla %0.4s, %1.4s, %2.4s" : "+w"(sum) : "w"(factor), "w"(term));
#endif
  }
};

template <class Real, std::size_t bytes, class Arithmetic, std::size_t... chain>
[[gnu::always_inline]] inline void run_chains(Sums<Real>& sums, Real factor, Real term,
                                              std::index_sequence<chain...>) {
  using Vector = typename Wide<Real, bytes>::Vector;
  constexpr std::size_t lanes = bytes / sizeof(Real);
  Vector sum[chains];
  (std::memcpy(&sum[chain], &sums[chain * lanes], bytes), ...);
  const Vector factors = Vector{} + factor;
  const Vector terms = Vector{} + term;
  for (std::int64_t round = 0; round < rounds; ++round) (Arithmetic::step(sum[chain], factors, terms), ...);
  (std::memcpy(&sums[chain * lanes], &sum[chain], bytes), ...);
}

using Chains = std::make_index_sequence<chains>;

template <class Real>
void compiled(Sums<Real>& sums, Real factor, Real term) {
  run_chains<Real, 16, Compiled>(sums, factor, term, Chains{});
}

#if defined(__x86_64__)
template <class Real>
[[gnu::target("avx512f")]] void fused_512(Sums<Real>& sums, Real factor, Real term) {
  run_chains<Real, 64, Fused>(sums, factor, term, Chains{});
}

template <class Real>
[[gnu::target("avx2,fma")]] void fused_256(Sums<Real>& sums, Real factor, Real term) {
  run_chains<Real, 32, Fused>(sums, factor, term, Chains{});
}

template <class Real>
Kernel<Real> widest() {
  if (__builtin_cpu_supports("avx512f")) return {64, fused_512<Real>};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {32, fused_256<Real>};
  return {16, compiled<Real>};
}
#elif defined(__aarch64__)
template <class Real>
void fused_128(Sums<Real>& sums, Real factor, Real term) {
  run_chains<Real, 16, Fused>(sums, factor, term, Chains{});
}

template <class Real>
Kernel<Real> widest() {
#ifdef PR_SVE_GET_VL
  const int scalable = prctl(PR_SVE_GET_VL);
  if (scalable > 0 && (scalable & PR_SVE_VL_LEN_MASK) > 16)
    throw Unavailable("this processor's SVE vectors are wider than the NEON vectors that this benchmark supports");
#endif
  return {16, fused_128<Real>};
}
#else
template <class Real>
Kernel<Real> widest() {
  throw Unavailable("this benchmark does not support the vectors of this processor architecture");
}
#endif

}  // namespace scope::multiply_add
