// node.peak: peak floating-point rate of a core.
//
// Timed: multiply-adds in registers, enough of them independent to hide their latency, on every rank's own
// clock; the slowest rank counts. With the widest vectors of this processor, regardless of the build flags, no
// program can exceed this rate; with the instructions that the flags allow, compiled loops could reach it.

#include "benchmark.hpp"
#include "processors/multiply_add.hpp"

namespace scope::peak {
namespace {

using namespace multiply_add;

template <class Real>
class Peak final : public Benchmark {
 public:
  Peak(const Parameters& parameters, const Communicator& communicator)
      : kernel_(parameters.choice("instructions") == "widest" ? widest<Real>() : Kernel<Real>{16, compiled<Real>}),
        ranks_(communicator.size()) {}

  Work work() const override {
    return {.flops = 2.0 * static_cast<double>(rounds) * chains * (kernel_.bytes / sizeof(Real)) * ranks_};
  }

  void fill(std::uint64_t seed) override {
    for (std::size_t i = 0; i < start_.size(); ++i) start_[i] = start(seed, i);
  }

  void run(Repetition& repetition) override {
    const Real factor = 1;
    const Real term = 2;
    repetition.time([&] {
      sums_ = start_;
      kernel_.run(sums_, factor, term);
    });
  }

  // Both kinds add 2 in every round, and all values are small integers, so that every lane is exact.
  Check verify(std::uint64_t seed) override {
    const std::size_t lanes = chains * kernel_.bytes / sizeof(Real);
    for (std::size_t i = 0; i < lanes; ++i)
      if (sums_[i] != start(seed, i) + 2 * rounds)
        return {static_cast<std::int64_t>(lanes), sentence({"lane ", i, " holds a wrong sum"})};
    return {static_cast<std::int64_t>(lanes), ""};
  }

  std::span<std::byte> received() override {
    return std::as_writable_bytes(std::span(sums_).first(chains * kernel_.bytes / sizeof(Real)));
  }

 private:
  static Real start(std::uint64_t seed, std::size_t i) { return static_cast<Real>((seed + i) % 1021); }

  Kernel<Real> kernel_;
  int ranks_;
  Sums<Real> start_{};
  Sums<Real> sums_{};
};

const Registration registration{{
    .name = "node.peak",
    .title = "peak arithmetic rate",
    .summary = "peak floating-point rate: multiply-adds in registers",
    .rungs = {{Pattern::arithmetic, "flops_per_s", "*", "limit"}},
    .parameters = {problem("precision", "double,single", "precision of the numbers").worded(",single precision"),
                   method("instructions", "widest,compiled",
                          "the processor's widest fused multiply-add, or what the compiler generates with the "
                          "build flags")
                       .worded(",as compiled")},
    .definition = Definition::max_rank,
    .metrics = {flops_per_second(), seconds("time_s")},
    .sweeps = {{"baseline", "nodes=types ranks=1,2,4 precision=double instructions=widest"},
               {"standard", "nodes=types ranks=1,all precision=double,single instructions=widest,compiled"}},
    .make = [](const Parameters& parameters, const Communicator& communicator) -> std::unique_ptr<Benchmark> {
      if (parameters.choice("precision") == "single")
        return std::make_unique<Peak<float>>(parameters, communicator);
      return std::make_unique<Peak<double>>(parameters, communicator);
    },
}};

}  // namespace
}  // namespace scope::peak
