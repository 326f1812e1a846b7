#include "sampling/digests.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "text/words.hpp"

namespace scope {
namespace {

constexpr std::size_t block_bytes = 4096;

constexpr std::uint64_t odd = 0x9e3779b97f4a7c15u;

// Every step is a bijection of the digest so far: one wrong word always shows. Four chains, since a processor can
// follow as many at once.
std::uint64_t digest(std::span<const std::byte> block) {
  std::array<std::uint64_t, 4> chains{1, 2, 3, 4};
  std::array<std::uint64_t, 4> words{};
  std::size_t at = 0;
  const auto mix = [&] {
    for (std::size_t i = 0; i < chains.size(); ++i) {
      chains[i] = (chains[i] ^ words[i]) * odd;
      chains[i] ^= chains[i] >> 32;
    }
  };
  for (; at + sizeof words <= block.size(); at += sizeof words) {
    std::memcpy(words.data(), block.data() + at, sizeof words);
    mix();
  }
  words = {};
  std::memcpy(words.data(), block.data() + at, block.size() - at);
  mix();
  std::uint64_t sum = block.size();
  for (const std::uint64_t chain : chains) sum = (sum ^ chain) * odd;
  return sum;
}

}  // namespace

std::uint64_t Digests::drawn() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

bool Digests::chosen(std::size_t block) const {
  if (share_ >= 1) return true;
  // The finalizer of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
  std::uint64_t mixed = key_ + (block + 1) * odd;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
  mixed ^= mixed >> 31;
  return static_cast<double>(mixed >> 11) * 0x1p-53 < share_;
}

std::string Digests::difference(std::span<const std::span<const std::byte>> parts) {
  const bool first = blocks_.empty();
  std::size_t block = 0;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const auto data = parts[part];
    for (std::size_t at = 0; at < data.size(); at += block_bytes, ++block) {
      const std::size_t count = std::min(block_bytes, data.size() - at);
      const std::uint64_t found = chosen(block) ? digest(data.subspan(at, count)) : 0;
      if (first) {
        blocks_.push_back(found);
      } else if (block >= blocks_.size() || blocks_[block] != found) {
        return sentence({"bytes ", at, " to ", at + count - 1, " of ", data.size(),
                         (part == 0 ? " received" : " computed"),
                         " differ from those of the first repetition on the same data"});
      }
    }
  }
  return block == blocks_.size() ? "" : "less data than after the first repetition on the same data";
}

double Digests::affordable_share(double whole_s, double elapsed_s) {
  // A rank without work in the timed part measures the clock's overhead less what is subtracted for it: also below 0.
  const double allowed_s = std::max(0.0, 0.1 * elapsed_s);
  return whole_s <= allowed_s ? 1 : allowed_s / whole_s;
}

}  // namespace scope
