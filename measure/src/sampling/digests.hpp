// Whether every repetition of a group left the same data behind.
//
// `Benchmark::verify` compares what the last repetition left; a wrong byte of an earlier one has been
// overwritten by then. Data that equal the verified data are right as well. Where digests of all data would take too
// long, only blocks chosen at random are digested, others for each new data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace scope {

class Digests {
 public:
  // The share of the data that can be digested in a tenth of a timed part, where the digest of all takes `whole_s`.
  static double affordable_share(double whole_s, double elapsed_s);

  // Start a new reference, of this share of the blocks.
  void clear(double share = 1) {
    blocks_.clear();
    share_ = share;
    ++key_;
  }

  bool empty() const { return blocks_.empty(); }
  double share() const { return share_; }

  // Empty when `parts` equal the first ones since `clear`, else the first block that differs.
  std::string difference(std::span<const std::span<const std::byte>> parts);

 private:
  bool chosen(std::size_t block) const;

  std::vector<std::uint64_t> blocks_;  // 0: not chosen
  double share_ = 1;
  std::uint64_t key_ = drawn();
  static std::uint64_t drawn();
};

}  // namespace scope
