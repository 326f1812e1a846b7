// device.atomics: the cost of atomic updates of a device's memory.
//
// Timed: additions by many items to a few counters, with contention, or to many counters, from the launch on the
// host until the device has done them, on the host's clock; and the kernel alone on the device's clock.

#include "devices/device_benchmark.hpp"

namespace scope::device_atomics {
namespace {

using namespace devices;

constexpr const char* text = R"(
KERNEL update(GLOBAL unsigned int* counters, unsigned int count) {
  for (int i = 0; i < 16; ++i) ATOMIC_ADD(&counters[(ITEM + i) % count], 1u);
}
)";
constexpr std::uint64_t updates_of_an_item = 16;
constexpr std::int64_t items_of_a_unit = 2048;

class DeviceAtomics final : public DeviceBenchmark {
 public:
  DeviceAtomics(const Parameters& parameters, const Communicator& communicator)
      : DeviceBenchmark(parameters, communicator),
        items_(items_of_a_unit * facts().compute_units),
        right_(static_cast<std::size_t>(parameters.integer("counters"))) {
    require_room(static_cast<std::int64_t>(bytes()), 1);
    counters_ = array(static_cast<std::int64_t>(bytes()));
    kernel_ = kernel(text, "update");
    kernel_->set({counters_.get(), static_cast<std::uint32_t>(right_.size())});
    expect_results(bytes());
    for (std::uint64_t item = 0; item < static_cast<std::uint64_t>(items_); ++item)
      for (std::uint64_t i = 0; i < updates_of_an_item; ++i) ++right_[(item + i) % right_.size()];
  }

  Work work() const override { return {.steps = static_cast<double>(items_) * updates_of_an_item}; }

  void fill(std::uint64_t) override {
    const std::vector<std::uint32_t> zeros(right_.size());
    write(*counters_, std::as_bytes(std::span(zeros)));
    launches_ = 0;
  }

  void run(Repetition& repetition) override {
    const double device_s = time(repetition, [&] {
      queue().launch(*kernel_, items_, group());
      ++launches_;
    });
    repetition.observe("device_update_s", device_s / work().steps);
  }

  Check verify(std::uint64_t) override {
    const std::span counted(reinterpret_cast<const std::uint32_t*>(received().data()), right_.size());
    Check check{static_cast<std::int64_t>(counted.size()), ""};
    for (std::size_t i = 0; i < counted.size() && check.problem.empty(); ++i)
      if (const std::uint32_t right = launches_ * right_[i]; counted[i] != right)
        check.problem = sentence({"counter ", i, " is ", counted[i], ", not ", right});
    return check;
  }

  bool repeats() const override { return false; }  // the counters continue counting

 private:
  std::size_t bytes() const { return right_.size() * sizeof(std::uint32_t); }
  void copy_results(std::span<std::byte> to) override { read(to, *counters_); }

  std::int64_t items_;
  std::vector<std::uint32_t> right_;  // amount that a launch adds to each counter
  std::uint32_t launches_ = 0;
  std::unique_ptr<Array> counters_;
  std::unique_ptr<Kernel> kernel_;
};

const Registration registration{{
    .name = "device.atomics",
    .title = "atomic updates on a device",
    .summary = "time of an atomic addition on a device, with and without contention",
    .needs = {Requirement::device},
    .parameters = {problem("counters", "", 1, 1, 1 << 24, "number of counters to which the work items add"),
                   device_parameter()},
    .definition = Definition::max_rank,
    .metrics = {result_seconds("device_update_s").labeled("device-clock update"),
                seconds_per_step("update_s").labeled("update including the launch")},
    .sweeps = {{"standard", "nodes=types ranks=1 counters=1,1024,1048576"}},
    .make = make<DeviceAtomics>,
}};

}  // namespace
}  // namespace scope::device_atomics
