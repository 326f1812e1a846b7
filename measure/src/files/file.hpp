// Files of the operating system: whole transfers, and what the page cache holds of a file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace scope {

// Blocks, addresses and offsets that O_DIRECT accepts on any disk.
constexpr std::int64_t direct_unit = 4096;

std::string last_error();  // of the last system call, in words

// An open file; closed with its owner.
class File {
 public:
  File() = default;
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() { close(); }
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  bool close();  // false, with errno, where the system reports an error that it kept until now

  // All bytes, in as many calls as the system needs. Empty, or what went wrong.
  std::string write(const std::byte* data, std::int64_t bytes, std::int64_t offset) const;
  std::string read(std::byte* data, std::int64_t bytes, std::int64_t offset) const;

  bool in_memory() const;     // on tmpfs or ramfs
  bool bypass_cache() const;  // O_DIRECT from now on; false, with errno, where that is refused
  void leave_cache() const;   // asks the system to evict all pages that are not dirty
  double resident_share(std::int64_t bytes) const;  // of its pages; 1 where the system does not report it

 private:
  int descriptor_ = -1;
};

}  // namespace scope
