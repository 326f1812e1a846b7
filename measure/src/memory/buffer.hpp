// Message buffers, and the pattern that shows whether data arrived unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace scope {

// Page-aligned new memory from the operating system: untouched until written, unmapped when released.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes);  // throws std::bad_alloc, or Unavailable while claims are questioned
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  std::byte* data() { return data_; }
  std::size_t size() const { return bytes_; }
  std::span<std::byte> bytes() { return {data_, bytes_}; }
  template <class Item>
  std::span<Item> as() {
    return {reinterpret_cast<Item*>(data_), bytes_ / sizeof(Item)};
  }
  void clear();  // writes zeros, which touches every page
  // Requests huge pages and touches all of them, so that messages and computations do not wait for page faults.
  void map();

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t mapped_ = 0;
  bool shared_ = false;  // whether shared with the buffers of all other ranks
};

// A word that depends on every bit of the seed and of its position: splitmix64 (Steele, Lea and Flood, OOPSLA
// 2014). Inline, because algorithms make their matrices from such words while they are timed.
inline std::uint64_t pattern_word(std::uint64_t seed, std::uint64_t place) {
  std::uint64_t value = seed * 0x9e3779b97f4a7c15u + place * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// Writes the pattern of `seed`; no two neighboring words are equal.
void write_pattern(std::span<std::byte> bytes, std::uint64_t seed);

// Empty if `bytes` contain the pattern of `seed`, else a message that names the first wrong bytes.
std::string pattern_problem(std::span<const std::byte> bytes, std::uint64_t seed);

}  // namespace scope
