// node.memory_latency: latency of dependent loads.
//
// Timed: a walk along a chain of pointers, one to each cache line of an array, in random order, on every rank's
// own clock; the slowest rank counts. Each walk continues where the previous one ended, so that no line of an
// array recurs before all others were visited. A predictable stride would measure the prefetcher.
#include <unistd.h>

#include <numeric>
#include <random>

#include "benchmark.hpp"

namespace scope::memory_latency {
namespace {

constexpr std::size_t longest_walk = 4096;

std::size_t cache_line_bytes() {
  const long line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
  return line >= static_cast<long>(sizeof(void*)) ? static_cast<std::size_t>(line) : 64;
}

class MemoryLatency final : public Benchmark {
 public:
  explicit MemoryLatency(const Parameters& parameters)
      : line_bytes_(cache_line_bytes()),
        lines_(std::max<std::size_t>(1, parameters.integer("array_bytes") / line_bytes_)),
        accesses_(std::min(lines_, longest_walk)),
        array_(lines_ * line_bytes_),
        order_(lines_) {
    std::iota(order_.begin(), order_.end(), 0u);
    std::shuffle(order_.begin(), order_.end(), std::mt19937_64(lines_));
    for (std::size_t i = 0; i < lines_; ++i) *line(order_[i]) = line(order_[(i + 1) % lines_]);
    position_ = line(order_[0]);
  }

  Work work() const override { return {.steps = static_cast<double>(accesses_)}; }

  void run(Repetition& repetition) override {
    void** position = position_;
    std::size_t walks = 0;
    repetition.time([&] {
      for (std::size_t i = 0; i < accesses_; ++i) position = static_cast<void**>(*position);
      ++walks;
    });
    walked_ += walks * accesses_;
    position_ = position;
    reached_ = position;
  }

  // If the walk is at the predicted line, every access followed the chain. Once, the chain is walked to its end:
  // it must visit every line and return to the start.
  Check verify(std::uint64_t) override {
    if (reached_ != line(order_[walked_ % lines_])) return {1, "the walk ended at a wrong line of the chain"};
    if (chain_checked_) return {1, ""};
    chain_checked_ = true;
    std::vector<bool> met(lines_);
    void** at = line(order_[0]);
    for (std::size_t i = 0; i < lines_; ++i, at = static_cast<void**>(*at))
      met[(reinterpret_cast<std::byte*>(at) - array_.data()) / line_bytes_] = true;
    const bool whole = at == line(order_[0]) && std::find(met.begin(), met.end(), false) == met.end();
    return {static_cast<std::int64_t>(lines_), whole ? "" : "the chain does not lead through every line"};
  }

  std::span<std::byte> received() override { return std::as_writable_bytes(std::span(&reached_, 1)); }
  bool repeats() const override { return false; }  // each walk continues where the previous one ended

 private:
  void** line(std::size_t number) { return reinterpret_cast<void**>(array_.data() + number * line_bytes_); }

  std::size_t line_bytes_;
  std::size_t lines_;
  std::size_t accesses_;
  Buffer array_;
  std::vector<std::uint32_t> order_;  // up to 2^32 lines, or 256 GiB
  void** position_ = nullptr;
  void** reached_ = nullptr;
  std::size_t walked_ = 0;
  bool chain_checked_ = false;
};

const Registration registration{{
    .name = "node.memory_latency",
    .title = "memory latency",
    .summary = "time of a dependent load, in caches and in memory",
    .parameters = {size("array_bytes", "B", 1 << 20, 64, std::int64_t{1} << 37, "size of the array on each rank")},
    .definition = Definition::max_rank,
    .metrics = {seconds_per_step("access_s").labeled("access time")},
    .sweeps = {{"baseline", "nodes=types ranks=1 array_bytes=16Ki,256Ki,4Mi,64Mi"},
               {"standard",
                "nodes=types ranks=1,all array_bytes=8Ki,16Ki,32Ki,64Ki,128Ki,256Ki,512Ki,1Mi,2Mi,4Mi,8Mi,16Mi,"
                "32Mi,64Mi,128Mi"}},
    .make = make<MemoryLatency>,
}};

}  // namespace
}  // namespace scope::memory_latency
