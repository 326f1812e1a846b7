// The caches' view of memory: lines that are flushed, or owned by this processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace scope {

inline constexpr std::int64_t cache_line = 64;  // the smallest of today's processors

#if defined(__x86_64__) || defined(__aarch64__) || defined(__powerpc64__)
inline constexpr bool can_flush_caches = true;
#else
inline constexpr bool can_flush_caches = false;
#endif

// Writes the lines of `bytes` back and removes them from the caches of all processors, as far as the architecture has an
// instruction for programs (`can_flush_caches`). Returns the number of lines.
std::int64_t flush_from_caches(std::span<const std::byte> bytes);

// Writes one byte of every line of `bytes` with its own value, as a program does that computes what it sends: this
// processor alone has the lines then. Returns the number of lines.
std::int64_t rewrite(std::span<std::byte> bytes);

}  // namespace scope
