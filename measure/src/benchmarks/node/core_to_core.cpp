// node.core_to_core: the bandwidth at which a core copies what another core has just written.
//
// Timed: one copy by rank 0, from memory that both ranks share into its own, after rank 1 has rewritten the array.
// This is the minimum cost of a message within a host, as the data are in the cache of the core that computed them.

#include "benchmark.hpp"
#include "memory/cache_lines.hpp"
#include "mpi/shared_segments.hpp"

namespace scope::core_to_core {
namespace {

class CoreToCore final : public Benchmark {
 public:
  CoreToCore(const Parameters& parameters, const Communicator& communicator)
      : copies_(communicator.root()),
        host_(one_host(communicator)),
        shared_(host_, parameters.integer("array_bytes")),
        source_(shared_.of(1)),
        target_(copies_ ? parameters.integer("array_bytes") : 1) {}

  Work work() const override { return {.bytes = static_cast<double>(source_.size())}; }

  void fill(std::uint64_t seed) override {
    copies_ ? target_.clear() : write_pattern(source_, seed);
    shared_.synchronize();
  }

  void run(Repetition& repetition) override {
    if (!copies_) rewrite(source_);
    shared_.synchronize();
    repetition.time([&] {
      if (copies_) std::memcpy(target_.data(), source_.data(), source_.size());
    });
  }

  Check verify(std::uint64_t seed) override {
    if (!copies_) return {};
    return {static_cast<std::int64_t>(source_.size()), pattern_problem(target_.bytes(), seed)};
  }

  std::span<std::byte> received() override { return copies_ ? target_.bytes() : std::span<std::byte>(); }
  // A second copy of the same array would find it in the cache of the copying core.
  bool loops() const override { return false; }
  bool prepares() const override { return true; }

 private:
  bool copies_;
  Communicator host_;
  SharedSegments shared_;
  std::span<std::byte> source_;
  Buffer target_;
};

const Registration registration{{
    .name = "node.core_to_core",
    .title = "core-to-core copy",
    .summary = "bandwidth at which a core copies what another core has just written",
    .ranks = Ranks::exactly(2),
    .rungs = {{Pattern::core_copy, "time_s", "", "limit"}},
    .parameters = {size("array_bytes", "B", 1 << 20, 1, std::int64_t{1} << 36, "bytes of the array")},
    .definition = Definition::max_rank,
    .metrics = {bytes_per_second(), seconds("time_s")},
    .sweeps = {{"baseline", "ranks=2 placement=core array_bytes=64Ki,1Mi"},
               {"standard", "ranks=2 placement=core array_bytes=4Ki,16Ki,64Ki,256Ki,1Mi,4Mi,16Mi,64Mi"}},
    .make = make<CoreToCore>,
}};

}  // namespace
}  // namespace scope::core_to_core
