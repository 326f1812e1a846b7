// Sequential sorting of keys: the C library's qsort, a radix sort, and a merge of sorted runs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include "benchmarks/algorithm/item_order.hpp"

namespace scope {

inline void quicksort(std::span<Key> keys) {
  std::qsort(keys.data(), keys.size(), sizeof(Key), [](const void* left, const void* right) {
    const Key a = *static_cast<const Key*>(left);
    const Key b = *static_cast<const Key*>(right);
    return a < b ? -1 : (a > b ? 1 : 0);
  });
}

// Least significant digit first (Knuth, The Art of Computer Programming, vol. 3, 5.2.5). `scratch` must be as
// long as `keys`; returns the one of them that holds the result.
inline std::span<Key> radix_sort(std::span<Key> keys, std::span<Key> scratch) {
  constexpr int digit_bits = 11;
  constexpr int digits = 3;
  constexpr std::size_t buckets = std::size_t{1} << digit_bits;
  const auto digit_of = [](Key key, int digit) { return key >> (digit * digit_bits) & (buckets - 1); };

  // Sorted keys would access the same cache lines successively, one bucket after another.
  if (std::is_sorted(keys.begin(), keys.end())) return keys;
  std::array<std::array<std::uint32_t, buckets>, digits> places{};
  for (const Key key : keys)
    for (int digit = 0; digit < digits; ++digit) ++places[digit][digit_of(key, digit)];
  for (int digit = 0; digit < digits; ++digit) {
    auto& place = places[digit];
    // A digit that is the same in all keys does not move any of them.
    if (keys.empty() || place[digit_of(keys.front(), digit)] == keys.size()) continue;
    std::uint32_t before = 0;
    for (auto& count : place) before += std::exchange(count, before);
    for (const Key key : keys) scratch[place[digit_of(key, digit)]++] = key;
    std::swap(keys, scratch);
  }
  return keys;
}

// Branch-free, since branches on the keys would be unpredictable.
inline Key* merge(std::span<const Key> left, std::span<const Key> right, Key* out) {
  const Key* a = left.data();
  const Key* b = right.data();
  const Key* const a_end = a + left.size();
  const Key* const b_end = b + right.size();
  while (a != a_end && b != b_end) {
    const Key from_a = *a;
    const Key from_b = *b;
    const bool second = from_b < from_a;
    *out++ = second ? from_b : from_a;
    b += second;
    a += !second;
  }
  return std::copy(b, b_end, std::copy(a, a_end, out));
}

// Merges neighboring runs until one is left. Run i of `keys` goes from begins[i] to begins[i + 1]; `scratch`
// must be as long as `keys`; returns the one of them that holds the result.
inline std::span<Key> merge_runs(std::span<Key> keys, std::vector<int> begins, std::span<Key> scratch) {
  while (begins.size() > 2) {
    std::vector<int> merged;
    for (std::size_t i = 0; i + 1 < begins.size(); i += 2) {
      const std::size_t middle = begins[i + 1];
      const std::size_t end = i + 2 < begins.size() ? begins[i + 2] : middle;
      merge(keys.subspan(begins[i], middle - begins[i]), keys.subspan(middle, end - middle), &scratch[begins[i]]);
      merged.push_back(begins[i]);
    }
    merged.push_back(begins.back());
    begins = std::move(merged);
    std::swap(keys, scratch);
  }
  return keys;
}

}  // namespace scope
