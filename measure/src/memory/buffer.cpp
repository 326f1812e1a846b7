#include "memory/buffer.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <utility>

#include "memory/available.hpp"
#include "memory/sharing.hpp"
#include "text/words.hpp"

namespace scope {

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  mapped_ = (bytes + page) / page * page;
  if (mapped_ < bytes) throw std::bad_alloc();
  data_ = shared_piece(mapped_);
  shared_ = data_ != nullptr;
  if (shared_) return;
  claim_memory(static_cast<std::int64_t>(mapped_));
  void* memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    release_memory(static_cast<std::int64_t>(mapped_));
    throw std::bad_alloc();
  }
  data_ = static_cast<std::byte*>(memory);
  // Processors prefetch beyond the last line. If the page there is absent, they search for it in every message.
  // Reading the page after whole pages of data makes it present and leaves the data untouched.
  if (bytes % page == 0) static_cast<void>(static_cast<volatile std::byte*>(data_)[bytes]);
}

Buffer::~Buffer() {
  if (data_ == nullptr) return;
  if (shared_) {
    release_shared(data_);
    return;
  }
  munmap(data_, mapped_);
  release_memory(static_cast<std::int64_t>(mapped_));
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_),
      mapped_(other.mapped_),
      shared_(other.shared_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  std::swap(shared_, other.shared_);
  return *this;
}

void Buffer::clear() {
  if (shared_) return;
  std::memset(data_, 0, bytes_);
}

void Buffer::map() {
  if (shared_) return;
  madvise(data_, mapped_, MADV_HUGEPAGE);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t at = 0; at < bytes_; at += page) *static_cast<volatile std::byte*>(data_ + at) = std::byte{0};
}

void write_pattern(std::span<std::byte> bytes, std::uint64_t seed) {
  if (memory_is_shared()) return;  // nothing is verified
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    const std::uint64_t value = pattern_word(seed, at);
    std::memcpy(bytes.data() + at, &value, 8);
  }
  const std::uint64_t value = pattern_word(seed, at);
  std::memcpy(bytes.data() + at, &value, bytes.size() - at);
}

std::string pattern_problem(std::span<const std::byte> bytes, std::uint64_t seed) {
  std::size_t at = 0;
  // Compares whole words first, at the speed of memory.
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t found = 0;
    std::memcpy(&found, bytes.data() + at, 8);
    if (found != pattern_word(seed, at)) break;
  }
  if (at < bytes.size()) {
    const std::uint64_t value = pattern_word(seed, at);
    const std::size_t count = bytes.size() - at < 8 ? bytes.size() - at : 8;
    if (std::memcmp(bytes.data() + at, &value, count) != 0)
      return sentence({"bytes ", at, " to ", at + count - 1, " of ", bytes.size(), " differ from what was sent"});
  }
  return "";
}

}  // namespace scope
