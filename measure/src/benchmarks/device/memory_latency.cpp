// device.memory_latency: latency of dependent loads on a device.
//
// Timed: a walk of one item along a chain through all cache lines of an array in random order, on the device's
// clock and, including the launch, on the host's. Each walk continues where the previous one ended.

#include <numeric>
#include <random>

#include "devices/device_benchmark.hpp"

namespace scope::device_memory_latency {
namespace {

using namespace devices;

constexpr const char* text = R"(
KERNEL walk(GLOBAL const unsigned int* next, GLOBAL unsigned int* position, unsigned int accesses) {
  unsigned int at = position[0];
  for (unsigned int i = 0; i < accesses; ++i) at = next[at];
  position[0] = at;
}
)";

// Number of accesses, large enough to make the launch, a few microseconds, negligible.
constexpr std::uint32_t accesses = 1 << 15;
constexpr std::int64_t usual_line_bytes = 64;

class DeviceMemoryLatency final : public DeviceBenchmark {
 public:
  DeviceMemoryLatency(const Parameters& parameters, const Communicator& communicator)
      : DeviceBenchmark(parameters, communicator),
        line_words_(std::max(usual_line_bytes, facts().cache_line_bytes) / sizeof(std::uint32_t)),
        order_(
            std::max<std::size_t>(1, parameters.integer("array_bytes") / (line_words_ * sizeof(std::uint32_t)))) {
    const auto bytes = static_cast<std::int64_t>(order_.size() * line_words_ * sizeof(std::uint32_t));
    require_room(bytes, 1);
    next_ = array(bytes);
    position_ = array(sizeof(std::uint32_t));
    std::iota(order_.begin(), order_.end(), 0u);
    std::shuffle(order_.begin(), order_.end(), std::mt19937_64(order_.size()));
    std::vector<std::uint32_t> next(order_.size() * line_words_);
    for (std::size_t i = 0; i < order_.size(); ++i) next[start_of(i)] = start_of((i + 1) % order_.size());
    write(*next_, std::as_bytes(std::span(next)));
    const std::uint32_t start = start_of(0);
    write(*position_, std::as_bytes(std::span(&start, 1)));
    kernel_ = kernel(text, "walk");
    kernel_->set({next_.get(), position_.get(), accesses});
    expect_results(sizeof(std::uint32_t));
  }

  Work work() const override { return {.steps = accesses}; }

  void run(Repetition& repetition) override {
    const double device_s = time(repetition, [&] {
      queue().launch(*kernel_, 1, 1);
      walked_ += accesses;
    });
    repetition.observe("device_access_s", device_s / accesses);
  }

  // If the walk is at the predicted line, which no shorter walk reaches, every access followed the chain.
  Check verify(std::uint64_t) override {
    std::uint32_t reached = 0;
    std::memcpy(&reached, received().data(), sizeof reached);
    const bool right = reached == start_of(walked_ % order_.size());
    return {1, right ? "" : "the walk ended at a wrong line of the chain"};
  }

  bool repeats() const override { return false; }  // each walk continues where the previous one ended

 private:
  std::uint32_t start_of(std::size_t step) const { return static_cast<std::uint32_t>(order_[step] * line_words_); }
  void copy_results(std::span<std::byte> to) override { read(to, *position_); }

  std::size_t line_words_;
  std::vector<std::uint32_t> order_;
  std::unique_ptr<Array> next_;
  std::unique_ptr<Array> position_;
  std::unique_ptr<Kernel> kernel_;
  std::size_t walked_ = 0;
};

const Registration registration{{
    .name = "device.memory_latency",
    .title = "memory latency of a device",
    .summary = "time of a dependent load on a device, in its caches and its memory",
    .family = "device_memory_latency",
    .needs = {Requirement::device},
    .parameters = {device_parameter(),
                   size("array_bytes", "B", 1 << 20, 64, std::int64_t{1} << 34, "size of the array on each rank")},
    .definition = Definition::max_rank,
    .metrics = {result_seconds("device_access_s").labeled("device-clock access time"),
                seconds_per_step("access_s").labeled("access time including the launch")},
    .sweeps = {{"standard", "nodes=types ranks=1 array_bytes=16Ki,128Ki,1Mi,8Mi,64Mi,256Mi"}},
    .make = make<DeviceMemoryLatency>,
}};

}  // namespace
}  // namespace scope::device_memory_latency
