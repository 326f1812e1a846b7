#include "memory/cache_lines.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace scope {
namespace {

void flush_line([[maybe_unused]] const std::byte* line) {
#if defined(__x86_64__)
  _mm_clflush(line);
#elif defined(__aarch64__)
  asm volatile("dc civac, %0" ::"r"(line) : "memory");
#elif defined(__powerpc64__)
  asm volatile("dcbf 0, %0" ::"r"(line) : "memory");
#endif
}

void wait_for_flushes() {
#if defined(__x86_64__)
  _mm_mfence();
#elif defined(__aarch64__)
  asm volatile("dsb ish" ::: "memory");
#elif defined(__powerpc64__)
  asm volatile("sync" ::: "memory");
#endif
}

// Visits an address in each line of `bytes`; returns the number of lines.
template <class Byte, class Visit>
std::int64_t for_each_line(std::span<Byte> bytes, Visit visit) {
  std::int64_t lines = 0;
  Byte* const end = bytes.data() + bytes.size();
  for (Byte* at = bytes.data(); at < end; ++lines) {
    visit(at);
    at += cache_line - static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(at) % cache_line);
  }
  return lines;
}

}  // namespace

std::int64_t flush_from_caches(std::span<const std::byte> bytes) {
  const std::int64_t lines = for_each_line(bytes, [](const std::byte* line) { flush_line(line); });
  wait_for_flushes();
  return lines;
}

std::int64_t rewrite(std::span<std::byte> bytes) {
  return for_each_line(bytes, [](std::byte* line) {
    volatile std::byte* const value = line;
    *value = *value;
  });
}

}  // namespace scope
