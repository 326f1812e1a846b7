#include "memory/buffer.hpp"

#include <cstdint>
#include <new>

#include "check.hpp"

using scope::Buffer;
using scope::pattern_problem;
using scope::write_pattern;

int main() {
  for (const std::size_t size : {0u, 1u, 7u, 8u, 9u, 4096u, 5000u}) {
    Buffer buffer(size);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 4096 == 0);
    write_pattern(buffer.bytes(), 3);
    CHECK(pattern_problem(buffer.bytes(), 3).empty());
    CHECK(size == 0 || !pattern_problem(buffer.bytes(), 4).empty());
    for (std::size_t at = 0; at < size; at += 997) {
      buffer.data()[at] ^= std::byte{1};
      CHECK(!pattern_problem(buffer.bytes(), 3).empty());
      buffer.data()[at] ^= std::byte{1};
    }
  }

  Buffer first(64);
  first.clear();
  Buffer second(16);
  second = std::move(first);
  CHECK(second.size() == 64);

  bool refused = false;
  try {
    const Buffer impossible(SIZE_MAX - 4096);
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  CHECK(refused);
  return scope::testing::failures;
}
