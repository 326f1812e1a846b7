// Doubles in memory fresh from the operating system, and the matrices that algorithms multiply.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <span>

#include "memory/buffer.hpp"

namespace scope {

class Values {
 public:
  explicit Values(std::int64_t count) : buffer_(static_cast<std::size_t>(count) * sizeof(double)) {}

  double* data() { return buffer_.as<double>().data(); }
  std::span<std::byte> bytes() { return buffer_.bytes(); }

  // Asks for large pages and touches them all, so that no message and no product has to wait for a page.
  void map() {
    madvise(buffer_.data(), buffer_.size(), MADV_HUGEPAGE);
    constexpr std::size_t page = 4096;
    for (std::size_t at = 0; at < buffer_.size(); at += page) {
      *static_cast<volatile std::byte*>(buffer_.data() + at) = std::byte{0};
    }
  }

 private:
  Buffer buffer_;
};

// The same value for the same seed and place on whatever process, in [-0.5, 0.5].
inline double matrix_value(std::uint64_t seed, std::int64_t place) {
  return static_cast<double>(
             static_cast<std::int64_t>(pattern_word(seed, static_cast<std::uint64_t>(place)))) *
         0x1p-64;
}

}  // namespace scope
