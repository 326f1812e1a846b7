// node.memory_copy: the bandwidth of the C library's memcpy.
//
// Timed: one copy on every rank at the same time, on its own clock; the slowest rank counts. A copy is the
// minimum cost of a message inside a host, or of exchanging buffers by hand.

#include "benchmark.hpp"

namespace scope::memory_copy {
namespace {

class MemoryCopy final : public Benchmark {
 public:
  MemoryCopy(const Parameters& parameters, const Communicator& communicator)
      : ranks_(communicator.size()),
        rank_(communicator.rank()),
        source_(parameters.integer("array_bytes")),
        target_(parameters.integer("array_bytes")) {}

  // The payload is counted once, as for a message of that size.
  Work work() const override { return {.bytes = static_cast<double>(source_.size()) * ranks_}; }

  void fill(std::uint64_t seed) override {
    write_pattern(source_.bytes(), seed * ranks_ + rank_);
    target_.clear();
  }

  void run(Repetition& repetition) override {
    const void* source = source_.data();
    void* target = target_.data();
    const std::size_t bytes = source_.size();
    repetition.time([&] {
      std::memcpy(target, source, bytes);
      asm volatile(""
                   :
                   : "r"(target)
                   : "memory");  // the compiler must not skip a copy that repeats the previous one
    });
  }

  Check verify(std::uint64_t seed) override {
    return {static_cast<std::int64_t>(target_.size()), pattern_problem(target_.bytes(), seed * ranks_ + rank_)};
  }

  std::span<std::byte> received() override { return target_.bytes(); }

 private:
  int ranks_;
  int rank_;
  Buffer source_;
  Buffer target_;
};

const Registration registration{{
    .name = "node.memory_copy",
    .title = "memcpy",
    .summary = "bandwidth of memcpy, in cache and in memory",
    .rungs = {{Pattern::copy, "time_s", "", "limit"}},
    .parameters = {size("array_bytes", "B", 1 << 20, 1, std::int64_t{1} << 40, "bytes that each rank copies")},
    .definition = Definition::max_rank,
    .metrics = {bytes_per_second(), seconds("time_s")},
    .sweeps = {{"baseline", "nodes=types ranks=1 array_bytes=16Ki,1Mi,4Mi,64Mi"},
               {"standard",
                "nodes=types ranks=1,all array_bytes=64,256,1Ki,4Ki,16Ki,64Ki,256Ki,1Mi,4Mi,16Mi,64Mi"}},
    .make = make<MemoryCopy>,
}};

}  // namespace
}  // namespace scope::memory_copy
