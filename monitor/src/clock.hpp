// The register clock, read without serialising: a call of MPI is hundreds of instructions long, and the read
// must cost as little as can be. Where no register counts at a constant rate, the monotonic clock in
// nanoseconds.
#pragma once

#include <time.h>

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace scope {

inline std::uint64_t nanoseconds_of(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

#if defined(__x86_64__)
// Invariant TSC: CPUID 8000_0007h, EDX bit 8 (AMD64 and Intel 64 manuals).
inline bool register_is_fit() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1u << 8)) != 0;
}
inline const bool uses_register = register_is_fit();
inline std::uint64_t ticks_now() {
  return uses_register ? __rdtsc() : nanoseconds_of(CLOCK_MONOTONIC);
}
#elif defined(__aarch64__)
inline std::uint64_t ticks_now() {
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}
#elif defined(__powerpc64__)
inline std::uint64_t ticks_now() {
  return __builtin_ppc_get_timebase();
}
#else
inline std::uint64_t ticks_now() {
  return nanoseconds_of(CLOCK_MONOTONIC);
}
#endif

// The same moment on both clocks: of several readings the one that took least time.
struct Moment {
  std::uint64_t ticks;
  std::uint64_t nanoseconds;
};
inline Moment moment_on(clockid_t clock) {
  Moment best{};
  std::uint64_t narrowest = UINT64_MAX;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const std::uint64_t before = ticks_now();
    const std::uint64_t nanoseconds = nanoseconds_of(clock);
    const std::uint64_t width = ticks_now() - before;
    if (width < narrowest) {
      narrowest = width;
      best = {before + width / 2, nanoseconds};
    }
  }
  return best;
}

}  // namespace scope
