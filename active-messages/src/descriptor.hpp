// A file descriptor and a mapping that close themselves, and the error of a failed call.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

namespace scope::active_messages {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

class Mapping {
 public:
  Mapping() = default;
  Mapping(std::size_t bytes, int flags, int descriptor, long offset)
      : memory_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, descriptor, offset)), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept
      : memory_(std::exchange(other.memory_, MAP_FAILED)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping() {
    if (memory_ != MAP_FAILED) ::munmap(memory_, bytes_);
  }
  std::byte* data() const { return static_cast<std::byte*>(memory_); }
  std::size_t size() const { return bytes_; }
  explicit operator bool() const { return memory_ != MAP_FAILED; }

 private:
  void* memory_ = MAP_FAILED;
  std::size_t bytes_ = 0;
};

}  // namespace scope::active_messages
