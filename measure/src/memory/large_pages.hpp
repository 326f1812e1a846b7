// Arrays for computation, aligned for any vector. Long arrays are in large pages, so that few addresses are
// translated by the processor and when messages are copied within a host.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <vector>

namespace scope {

template <class Item>
struct LargePages {
  using value_type = Item;

  LargePages() = default;
  template <class Other>
  LargePages(const LargePages<Other>&) {}

  Item* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(Item);
    void* const begin = ::operator new(bytes, alignment(bytes));
    // A refusal affects only the speed.
    if (bytes >= large_page) madvise(begin, bytes, MADV_HUGEPAGE);
    return static_cast<Item*>(begin);
  }
  void deallocate(Item* begin, std::size_t count) { ::operator delete(begin, alignment(count * sizeof(Item))); }

  bool operator==(const LargePages&) const = default;

 private:
  static constexpr std::size_t large_page = std::size_t{2} << 20;
  static constexpr std::size_t cache_line = 64;

  static std::align_val_t alignment(std::size_t bytes) {
    return std::align_val_t{bytes >= large_page ? large_page : cache_line};
  }
};

using LargeArray = std::vector<double, LargePages<double>>;

}  // namespace scope
