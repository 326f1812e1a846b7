// The clock of all native parts: the processor's time stamp register where it counts at a constant rate,
// otherwise the operating system's monotonic clock. Ticks of all processes of one host share one scale.
#pragma once

#include <time.h>

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace scope {

using Ticks = std::int64_t;

inline Ticks nanoseconds_of(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

// Why the register is not usable as a clock; nullptr where it counts at a constant rate in every power state.
inline const char* register_objection() {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  // Invariant TSC: CPUID 8000_0007h, EDX bit 8 (AMD64 and Intel 64 manuals).
  if (__get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) == 0) return "the processor does not describe its TSC";
  return (edx & (1u << 8)) != 0 ? nullptr : "the processor's TSC is not invariant";
#elif defined(__aarch64__) || defined(__powerpc64__)
  return nullptr;
#else
  return "no register timer is known for this architecture";
#endif
}

inline const char* register_name() {
#if defined(__x86_64__)
  return "tsc";
#elif defined(__aarch64__)
  return "cntvct";
#else
  return "timebase";
#endif
}

// The cheapest read: the processor may move instructions across it. Compiler built-ins, because the header of
// intrinsics takes longer to compile than any other.
inline Ticks register_ticks() {
#if defined(__x86_64__)
  return static_cast<Ticks>(__builtin_ia32_rdtsc());
#elif defined(__aarch64__)
  Ticks ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#elif defined(__powerpc64__)
  return static_cast<Ticks>(__builtin_ppc_get_timebase());
#else
  return nanoseconds_of(CLOCK_MONOTONIC);
#endif
}

// Serialized on both sides ("anti-warping", thesis 6.3.5): no instruction of a timed part moves across the read.
inline Ticks serialized_register_ticks() {
#if defined(__x86_64__)
  __builtin_ia32_lfence();
  const Ticks ticks = register_ticks();
  __builtin_ia32_lfence();
  return ticks;
#elif defined(__aarch64__)
  Ticks ticks;
  asm volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks)::"memory");
  return ticks;
#elif defined(__powerpc64__)
  Ticks ticks;
  asm volatile("sync\n\tmftb %0\n\tisync" : "=r"(ticks)::"memory");
  return ticks;
#else
  return register_ticks();
#endif
}

inline const bool counts_by_register = register_objection() == nullptr;

inline Ticks ticks_now() { return counts_by_register ? register_ticks() : nanoseconds_of(CLOCK_MONOTONIC); }

// One moment on two clocks.
struct Moment {
  Ticks ticks;
  Ticks nanoseconds;
};

// The fastest of several readings of both clocks, which no interruption disturbed.
template <class Now>
Moment moment_on(clockid_t clock, int attempts, Now&& now) {
  Moment best{};
  Ticks narrowest = INT64_MAX;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const Ticks before = now();
    const Ticks nanoseconds = nanoseconds_of(clock);
    const Ticks width = now() - before;
    if (width < narrowest) {
      narrowest = width;
      best = {before + width / 2, nanoseconds};
    }
  }
  return best;
}

}  // namespace scope
