// Whether every repetition of a group left the same data behind.
//
// `Benchmark::verify` compares what the last repetition left; a wrong byte of an earlier one has been
// overwritten by then. Data that equal the verified data are right as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace scope {

class Digests {
 public:
  // What comes next is new data.
  void clear() { blocks_.clear(); }

  bool empty() const { return blocks_.empty(); }

  // Empty when `parts` equal the first ones since `clear`, else the first block that differs.
  std::string difference(std::span<const std::span<const std::byte>> parts);

 private:
  std::vector<std::uint64_t> blocks_;
};

}  // namespace scope
