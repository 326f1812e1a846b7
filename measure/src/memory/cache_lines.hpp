// Control of cache lines: flushing them, or making this processor their owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace scope {

inline constexpr std::int64_t cache_line = 64;  // the smallest in current processors

#if defined(__x86_64__) || defined(__aarch64__) || defined(__powerpc64__)
inline constexpr bool can_flush_caches = true;
#else
inline constexpr bool can_flush_caches = false;
#endif

// Writes the lines of `bytes` back and removes them from the caches of all processors, if the architecture has an
// instruction for programs (`can_flush_caches`). Returns the number of lines.
std::int64_t flush_from_caches(std::span<const std::byte> bytes);

// Writes one byte of every line of `bytes` with its old value, so that only this processor has the lines, as in a
// program that computes the data it sends. Returns the number of lines.
std::int64_t rewrite(std::span<std::byte> bytes);

}  // namespace scope
