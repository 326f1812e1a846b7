#include "sampling/digests.hpp"

#include <algorithm>
#include <cstring>

#include "text/words.hpp"

namespace scope {
namespace {

constexpr std::size_t block_bytes = 4096;

// Every step is a bijection of the digest so far: one wrong word always shows.
std::uint64_t digest(std::span<const std::byte> block) {
  std::uint64_t sum = block.size();
  const auto mix = [&](std::uint64_t word) {
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    sum ^= sum >> 32;
  };
  std::uint64_t word = 0;
  std::size_t at = 0;
  for (; at + sizeof word <= block.size(); at += sizeof word) {
    std::memcpy(&word, block.data() + at, sizeof word);
    mix(word);
  }
  word = 0;
  std::memcpy(&word, block.data() + at, block.size() - at);
  mix(word);
  return sum;
}

}  // namespace

std::string Digests::difference(std::span<const std::byte> data) {
  const bool first = blocks_.empty();
  for (std::size_t at = 0, block = 0; at < data.size(); at += block_bytes, ++block) {
    const std::size_t count = std::min(block_bytes, data.size() - at);
    const std::uint64_t found = digest(data.subspan(at, count));
    if (first) {
      blocks_.push_back(found);
    } else if (block >= blocks_.size() || blocks_[block] != found) {
      return sentence({"bytes ", at, " to ", at + count - 1, " of ", data.size(),
                       " differ from those of the first repetition on the same data"});
    }
  }
  return "";
}

}  // namespace scope
