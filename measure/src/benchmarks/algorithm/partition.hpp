#pragma once

#include <cstdint>

namespace scope {

// N items in order over a number of parts, whose sizes differ by at most one; with more parts than items some
// are empty.
class Partition {
 public:
  Partition(std::int64_t items, int parts) : items_(items), parts_(parts) {}

  std::int64_t begin(int part) const { return items_ * part / parts_; }
  std::int64_t end(int part) const { return begin(part + 1); }
  std::int64_t size(int part) const { return end(part) - begin(part); }
  std::int64_t largest() const { return (items_ + parts_ - 1) / parts_; }
  int parts() const { return parts_; }

 private:
  std::int64_t items_;
  int parts_;
};

}  // namespace scope
