// node.fill: how fast one core fills an array.
//
// Timed: one std::memset over the array, on every rank's own clock; the slowest rank counts.
#include <algorithm>
#include <cstring>

#include "benchmark.hpp"
#include "memory/buffer.hpp"

namespace scope {
namespace {

class Fill final : public Benchmark {
 public:
  Fill(const Parameters& parameters, const Communicator& communicator)
      : ranks_(communicator.size()), array_(parameters.integer("array_bytes")) {}

  Work work() const override { return {.bytes = static_cast<double>(array_.size()) * ranks_}; }

  void fill(std::uint64_t seed) override {
    value_ = static_cast<int>(1 + seed % 255);
    array_.clear();
  }

  void run(Repetition& repetition) override {
    repetition.time([&] { std::memset(array_.data(), value_, array_.size()); });
  }

  Check verify(std::uint64_t) override {
    const auto bytes = array_.bytes();
    const bool filled =
        std::all_of(bytes.begin(), bytes.end(), [&](std::byte one) { return one == std::byte(value_); });
    return {static_cast<std::int64_t>(bytes.size()), filled ? "" : "a byte has another value"};
  }

  std::span<std::byte> received() override { return array_.bytes(); }

 private:
  int ranks_;
  int value_ = 0;
  Buffer array_;
};

const Registration registration{{
    .name = "node.fill",
    .title = "memory fill",
    .summary = "filling an array with one value",
    .rungs = {{Pattern::memory, "bandwidth_bytes_per_s"}},
    .parameters = {size("array_bytes", "B", 1 << 20, 1, std::int64_t{1} << 36, "size of each rank's array")},
    .definition = Definition::max_rank,
    .metrics = {bytes_per_second()},
    .sweeps = {{"standard", "ranks=1 array_bytes=64Ki,1Mi,16Mi"}},
    .make = make<Fill>,
}};

}  // namespace
}  // namespace scope
