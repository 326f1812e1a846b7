// Memory that peers may read and write, under keys chosen by the program. Offsets count from the start of the
// registered memory (libfabric's mr_mode 0).
#pragma once

#include <rdma/fi_domain.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace scope::provider {

class MemoryTable {
 public:
  struct Entry {
    std::byte* begin;
    std::size_t bytes;
    std::uint64_t access;  // FI_REMOTE_READ, FI_REMOTE_WRITE
  };

  bool add(std::uint64_t key, const Entry& entry) { return entries_.try_emplace(key, entry).second; }
  void remove(std::uint64_t key) { entries_.erase(key); }
  // Returns nullptr unless the registered memory permits these accesses to all these bytes.
  std::byte* find(std::uint64_t key, std::uint64_t offset, std::uint64_t bytes, std::uint64_t access) const;

 private:
  std::unordered_map<std::uint64_t, Entry> entries_;
};

extern fi_ops_mr memory_functions;

}  // namespace scope::provider
