// Checks whether every repetition of a group left the same data.
//
// `Benchmark::verify` compares the data of the last repetition; wrong bytes of earlier ones have been overwritten
// by then. Data that equal the verified data are also right. If digests of all data would take too long, only
// randomly chosen blocks are digested, different ones for each new data.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "text/words.hpp"

namespace scope {

constexpr std::size_t block_bytes = 4096;
constexpr std::uint64_t odd = 0x9e3779b97f4a7c15u;

// Every step is a bijection of the previous digest, so that a single wrong word always changes it. Four chains,
// since processors can execute four at once.
inline std::uint64_t digest(std::span<const std::byte> block) {
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

class Digests {
 public:
  // Fraction of the data that can be digested in a tenth of a timed part, if the digest of all takes `whole_s`.
  static double affordable_share(double whole_s, double elapsed_s) {
    // A rank without work in the timed part measures the clock's overhead less its estimate, which may be below 0.
    const double allowed_s = std::max(0.0, 0.1 * elapsed_s);
    return whole_s <= allowed_s ? 1 : allowed_s / whole_s;
  }

  // Starts a new reference with this fraction of the blocks.
  void clear(double share = 1) {
    blocks_.clear();
    share_ = share;
    ++key_;
  }

  bool empty() const { return blocks_.empty(); }
  double share() const { return share_; }

  // Empty if `parts` equal the first ones since `clear`, else describes the first block that differs.
  std::string difference(std::span<const std::span<const std::byte>> parts) {
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
          return sentence({"bytes ", at, " to ", at + count - 1, " of the ", data.size(),
                           (part == 0 ? " received" : " computed"),
                           " bytes differ from the first repetition on the same data"});
        }
      }
    }
    return block == blocks_.size() ? "" : "there are fewer bytes than in the first repetition on the same data";
  }

 private:
  bool chosen(std::size_t block) const {
    if (share_ >= 1) return true;
    // The finalizer of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
    std::uint64_t mixed = key_ + (block + 1) * odd;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    mixed ^= mixed >> 31;
    return static_cast<double>(mixed >> 11) * 0x1p-53 < share_;
  }

  std::vector<std::uint64_t> blocks_;  // 0: not chosen
  double share_ = 1;
  std::uint64_t key_ = drawn();
  static std::uint64_t drawn() {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
  }
};

}  // namespace scope
