// 32-bit items as keys: unsigned integers that sort in the same order as the items.
//
// Floats: -inf < ... < -0 < +0 < ... < +inf < NaN < NaN with the sign bit set. The mapping is one-to-one, bit
// for bit, so that sorting keys loses nothing, not even a NaN's payload.
#pragma once

#include <cstdint>
#include <span>

namespace scope {

using Key = std::uint32_t;

enum class Item { single, integer };

// The key of -inf after the bits of a float are transformed to grow with its value: lower keys are negative
// NaNs, which the subtraction wraps to the upper end.
constexpr Key negative_infinity = 0x007fffff;
constexpr Key sign = 0x80000000;

constexpr Key key_of_float(std::uint32_t bits) {
  return (bits ^ ((bits & sign) != 0 ? ~Key{0} : sign)) - negative_infinity;
}

constexpr std::uint32_t float_of_key(Key key) {
  const Key turned = key + negative_infinity;
  return turned ^ ((turned & sign) != 0 ? sign : ~Key{0});
}

// In place; integers are their own keys.
inline void items_to_keys(std::span<Key> items, Item item) {
  if (item == Item::integer) return;
  for (Key& item : items) item = key_of_float(item);
}
inline void keys_to_items(std::span<Key> keys, Item item) {
  if (item == Item::integer) return;
  for (Key& key : keys) key = float_of_key(key);
}

}  // namespace scope
