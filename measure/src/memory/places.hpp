// Places for messages: one for each operation of a repetition, so that none overwrites what another one received, or
// some that operations use in turn.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "memory/buffer.hpp"
#include "memory/cache_lines.hpp"

namespace scope {

// Where each place begins, and how many are used in turn at least.
struct PlaceLayout {
  std::int64_t alignment = cache_line;  // no two places share a cache line
  std::int64_t offset = 0;              // bytes behind the boundary
  std::int64_t rotation = 1;

  PlaceLayout at_least(std::int64_t places) const { return {alignment, offset, std::max(rotation, places)}; }
};

class Places {
 public:
  explicit Places(std::int64_t bytes, const PlaceLayout& layout = {})
      : bytes_(bytes), layout_(layout), stride_(rounded(bytes, layout)) {
    reserve(layout_.rotation);
  }

  // Places of so many bytes that may be asked for.
  static std::int64_t most(std::int64_t bytes, const PlaceLayout& layout = {}) {
    return std::max<std::int64_t>(1, room / std::max(rounded(bytes, layout), cache_line));
  }
  std::int64_t most() const { return most(bytes_, layout_); }

  // The share of `messages` that is still in memory after the last one arrived. `many`: each has its own place, as far as
  // there is room. The same on every rank.
  double kept_share(std::int64_t messages, bool many) const {
    const std::int64_t places = many ? most() : layout_.rotation;
    return static_cast<double>(std::min(places, messages)) / static_cast<double>(messages);
  }

  // So many are used from now on: where they are fewer than those in turn, the next ones. Where there were fewer before,
  // they move and are clear.
  void use(std::int64_t count) {
    const std::int64_t next = first_ + count_;
    first_ = next + count > layout_.rotation ? 0 : next;
    count_ = count;
    reserve(count);
  }
  // Of sources: as many as there are in turn suffice.
  void use_in_turn(std::int64_t operations) { use(std::min(operations, layout_.rotation)); }
  // One is used from now on, the next one.
  void turn() { first_ = first_ + 1 == layout_.rotation ? 0 : first_ + 1; }

  std::int64_t count() const { return count_; }
  std::ptrdiff_t stride() const { return stride_; }
  // Of those that are used.
  std::byte* operator[](std::int64_t number) { return begin_of(first_ + number); }
  std::byte* in_turn(std::int64_t number) { return (*this)[count_ == 1 ? 0 : number % count_]; }
  // The one that `turn` comes to.
  std::byte* next() { return begin_of(first_ + 1 == layout_.rotation ? 0 : first_ + 1); }
  std::span<std::byte> place(std::int64_t number) { return {(*this)[number], static_cast<std::size_t>(bytes_)}; }
  // All that are used, with what lies behind each.
  std::span<std::byte> bytes() { return {(*this)[0], static_cast<std::size_t>(count_ * stride_)}; }
  // All that there are.
  std::span<std::byte> memory() { return memory_.bytes(); }
  void clear() { memory_.clear(); }
  // All that are used in turn: visit(place).
  template <class Visit>
  void each_in_turn(Visit visit) {
    for (std::int64_t number = 0; number < layout_.rotation; ++number)
      visit(std::span{begin_of(number), static_cast<std::size_t>(bytes_)});
  }
  void write_pattern(std::uint64_t seed) {
    each_in_turn([=](std::span<std::byte> place) { scope::write_pattern(place, seed); });
  }

  // Empty, or the first place that does not hold the pattern of `seed`.
  std::string pattern_problem(std::uint64_t seed);
  // Empty, or which byte after a place was written.
  std::string overrun(std::int64_t number);

 private:
  static constexpr std::int64_t room = std::int64_t{256} << 20;
  static std::int64_t rounded(std::int64_t bytes, const PlaceLayout& layout) {
    return (layout.offset + bytes + layout.alignment - 1) / layout.alignment * layout.alignment;
  }

  std::byte* begin_of(std::int64_t number) { return memory_.data() + layout_.offset + number * stride_; }
  void reserve(std::int64_t count) {
    const std::int64_t needed = layout_.offset + count * stride_;
    if (static_cast<std::int64_t>(memory_.size()) >= needed) return;
    memory_ = Buffer(needed);
    memory_.clear();
  }

  std::int64_t bytes_;
  PlaceLayout layout_;
  std::int64_t stride_;
  std::int64_t first_ = 0;
  std::int64_t count_ = 1;
  Buffer memory_{0};
};

}  // namespace scope
