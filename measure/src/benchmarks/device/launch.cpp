// device.launch: the cost of starting a kernel.
//
// Timed: the launch of a one-item kernel that counts its launches, from the call on the host until the host knows
// that the kernel has ended, on the host's clock. The time until the call returns is the submission.

#include "devices/device_benchmark.hpp"

namespace scope::device_launch {
namespace {

using namespace devices;

constexpr const char* text = R"(
KERNEL count(GLOBAL unsigned int* launches) { launches[0] += 1; }
)";

class DeviceLaunch final : public DeviceBenchmark {
 public:
  DeviceLaunch(const Parameters& parameters, const Communicator& communicator)
      : DeviceBenchmark(parameters, communicator),
        counter_(array(sizeof launched_)),
        kernel_(kernel(text, "count")) {
    kernel_->set({counter_.get()});
    expect_results(sizeof launched_);
  }

  Work work() const override { return {}; }

  void fill(std::uint64_t seed) override {
    launched_ = static_cast<std::uint32_t>(seed);
    write(*counter_, std::as_bytes(std::span(&launched_, 1)));
  }

  void run(Repetition& repetition) override {
    const TickClock& ticks = repetition.ticks();
    Ticks submitting = 0;
    const double device_s = time(repetition, [&] {
      const Ticks start = ticks.now();
      queue().launch(*kernel_, 1, 1);
      queue().flush();
      if (timed_by_host()) submitting += ticks.now() - start;
      ++launched_;
    });
    repetition.observe("device_s", device_s);
    repetition.observe("submit_s", ticks.seconds(submitting) / static_cast<double>(repetition.calls()));
  }

  Check verify(std::uint64_t) override {
    std::uint32_t counted = 0;
    std::memcpy(&counted, received().data(), sizeof counted);
    if (counted == launched_) return {1, ""};
    return {1, sentence({"the device counted to ", counted, ", not to ", launched_})};
  }

  bool repeats() const override { return false; }  // the kernel continues counting

 private:
  void copy_results(std::span<std::byte> to) override { read(to, *counter_); }

  std::uint32_t launched_ = 0;
  std::unique_ptr<Array> counter_;
  std::unique_ptr<Kernel> kernel_;
};

const Registration registration{{
    .name = "device.launch",
    .title = "kernel launch",
    .summary = "time to start a kernel on a device and to detect its end",
    .needs = {Requirement::device},
    .parameters = {device_parameter()},
    .definition = Definition::max_rank,
    .metrics = {seconds("time_s"), phase("submit_s").labeled("submission"),
                phase("device_s").labeled("device-clock time")},
    .sweeps = {{"standard", "nodes=types ranks=1"}},
    .make = make<DeviceLaunch>,
}};

}  // namespace
}  // namespace scope::device_launch
