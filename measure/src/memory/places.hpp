// A place to receive for each operation of a repetition, so that none overwrites what another one received.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "memory/buffer.hpp"

namespace scope {

class Places {
 public:
  explicit Places(std::int64_t bytes) : bytes_(bytes), stride_(rounded(bytes)), memory_(stride_) {
    memory_.clear();
  }

  // Places of so many bytes that may be asked for.
  static std::int64_t most(std::int64_t bytes) {
    return std::max<std::int64_t>(1, room / std::max(rounded(bytes), line));
  }
  std::int64_t most() const { return most(bytes_); }

  // So many are used from now on. Where there were fewer before, they move and are clear.
  void use(std::int64_t count) {
    count_ = count;
    if (static_cast<std::int64_t>(memory_.size()) >= count * stride_) return;
    memory_ = Buffer(count * stride_);
    memory_.clear();
  }

  std::int64_t count() const { return count_; }
  std::ptrdiff_t stride() const { return stride_; }
  std::byte* operator[](std::int64_t number) { return memory_.data() + number * stride_; }
  std::span<std::byte> place(std::int64_t number) {
    return {(*this)[number], static_cast<std::size_t>(bytes_)};
  }
  // All that are used.
  std::span<std::byte> bytes() { return memory_.bytes().first(static_cast<std::size_t>(count_ * stride_)); }
  void clear() { memory_.clear(); }

  // Empty, or the first place that does not hold the pattern of `seed`.
  std::string pattern_problem(std::uint64_t seed);
  // Empty, or which byte after a place was written.
  std::string overrun(std::int64_t number);

 private:
  static constexpr std::int64_t line = 64;  // no two places share a cache line
  static std::int64_t rounded(std::int64_t bytes) { return (bytes + line - 1) / line * line; }
  static constexpr std::int64_t room = std::int64_t{256} << 20;

  std::int64_t bytes_;
  std::int64_t stride_;
  std::int64_t count_ = 1;
  Buffer memory_;
};

}  // namespace scope
