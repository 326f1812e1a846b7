// Slots for messages: one for each operation of a repetition, so that none overwrites the data of another one, or
// a ring of slots.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "memory/buffer.hpp"
#include "memory/cache_lines.hpp"
#include "text/words.hpp"

namespace scope {

// The beginning of each slot, and the minimum number of slots in the ring.
struct SlotLayout {
  std::int64_t alignment = cache_line;  // no two slots share a cache line
  std::int64_t offset = 0;              // bytes from the boundary to the slot
  std::int64_t rotation = 1;

  SlotLayout at_least(std::int64_t slots) const { return {alignment, offset, std::max(rotation, slots)}; }
};

class MessageSlots {
 public:
  explicit MessageSlots(std::int64_t bytes, const SlotLayout& layout = {})
      : bytes_(bytes), layout_(layout), stride_(rounded(bytes, layout)) {
    reserve(layout_.rotation);
  }

  // The maximum number of slots of this size.
  static std::int64_t most(std::int64_t bytes, const SlotLayout& layout = {}) {
    return std::max<std::int64_t>(1, room / std::max(rounded(bytes, layout), cache_line));
  }
  std::int64_t most() const { return most(bytes_, layout_); }

  // The fraction of `messages` that is still in memory after the last one arrived. `many`: whether each has its
  // own slot if there is space. The same on every rank.
  double kept_share(std::int64_t messages, bool many) const {
    const std::int64_t slots = many ? most() : layout_.rotation;
    return static_cast<double>(std::min(slots, messages)) / static_cast<double>(messages);
  }

  // Uses `count` slots from now on, continuing the ring while they fit into it. If memory must grow, it moves and
  // is cleared.
  void use(std::int64_t count) {
    const std::int64_t next = first_ + count_;
    first_ = next + count > layout_.rotation ? 0 : next;
    count_ = count;
    reserve(count);
  }
  // For sources, which do not need more slots than the ring has.
  void use_in_turn(std::int64_t operations) { use(std::min(operations, layout_.rotation)); }
  // Uses the next slot of the ring from now on.
  void turn() { first_ = first_ + 1 == layout_.rotation ? 0 : first_ + 1; }

  std::int64_t count() const { return count_; }
  std::ptrdiff_t stride() const { return stride_; }
  // Slot `number` of those in use.
  std::byte* operator[](std::int64_t number) { return begin_of(first_ + number); }
  std::byte* in_turn(std::int64_t number) { return (*this)[count_ == 1 ? 0 : number % count_]; }
  // The slot that `turn` would select.
  std::byte* next() { return begin_of(first_ + 1 == layout_.rotation ? 0 : first_ + 1); }
  std::span<std::byte> slot(std::int64_t number) { return {(*this)[number], static_cast<std::size_t>(bytes_)}; }
  // All slots in use, each with the bytes after its message.
  std::span<std::byte> bytes() { return {(*this)[0], static_cast<std::size_t>(count_ * stride_)}; }
  // All slots, whether in use or not.
  std::span<std::byte> memory() { return memory_.bytes(); }
  void clear() { memory_.clear(); }
  // Calls visit(slot) for each slot of the ring.
  template <class Visit>
  void each_in_turn(Visit visit) {
    for (std::int64_t number = 0; number < layout_.rotation; ++number)
      visit(std::span{begin_of(number), static_cast<std::size_t>(bytes_)});
  }
  void write_pattern(std::uint64_t seed) {
    each_in_turn([=](std::span<std::byte> slot) { scope::write_pattern(slot, seed); });
  }

  // Names the first slot in use that does not contain the pattern of `seed`; empty if all do.
  std::string pattern_problem(std::uint64_t seed) {
    for (std::int64_t number = 0; number < count_; ++number) {
      std::string problem = scope::pattern_problem(slot(number), seed);
      if (problem.empty()) problem = overrun(number);
      if (problem.empty()) continue;
      return count_ > 1 ? sentence({"message ", number + 1, ": ", problem}) : problem;
    }
    return "";
  }
  // Names the first byte after a slot's message that was overwritten; empty if none was.
  std::string overrun(std::int64_t number) {
    const std::byte* const begin = (*this)[number];
    const auto* const written =
        std::find_if(begin + bytes_, begin + stride_, [](std::byte byte) { return byte != std::byte{0}; });
    if (written == begin + stride_) return "";
    return sentence({"byte ", written - begin, " was written, of a message of ", bytes_});
  }

 private:
  static constexpr std::int64_t room = std::int64_t{256} << 20;
  static std::int64_t rounded(std::int64_t bytes, const SlotLayout& layout) {
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
  SlotLayout layout_;
  std::int64_t stride_;
  std::int64_t first_ = 0;
  std::int64_t count_ = 1;
  Buffer memory_{0};
};

}  // namespace scope
