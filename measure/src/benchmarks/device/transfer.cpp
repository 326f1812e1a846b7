// device.transfer: bandwidth between host memory and device memory.
//
// Timed: one copy, or simultaneous copies in both directions, from the call on the host until the data have
// arrived, on the host's clock; and the copy alone on the device's clock.

#include "devices/device_benchmark.hpp"

namespace scope::device_transfer {
namespace {

using namespace devices;

// Host memory: either pageable, which the driver must pin or copy first, or pinned by the driver.
struct HostMemory {
  std::unique_ptr<PinnedMemory> pinned;
  std::unique_ptr<Buffer> pageable;

  std::span<std::byte> bytes() const { return pinned ? pinned->bytes() : pageable->bytes(); }
};

class DeviceTransfer final : public DeviceBenchmark {
 public:
  DeviceTransfer(const Parameters& parameters, const Communicator& communicator)
      : DeviceBenchmark(parameters, communicator),
        bytes_(static_cast<std::size_t>(parameters.integer("transfer_bytes"))),
        ranks_(communicator.size()),
        rank_(communicator.rank()),
        writes_(parameters.choice("direction") != "to_host"),
        reads_(parameters.choice("direction") != "to_device"),
        pinned_(parameters.choice("memory") == "pinned") {
    require_room(parameters.integer("transfer_bytes"), 2);
    source_ = host_memory();
    target_ = host_memory();
    written_ = array(parameters.integer("transfer_bytes"));
    read_ = array(parameters.integer("transfer_bytes"));
    back_ = further_queues();
    expect_results(bytes_ * (writes_ && reads_ ? 2 : 1));
  }

  Work work() const override {
    return {.bytes = static_cast<double>(bytes_) * (writes_ && reads_ ? 2 : 1) * ranks_};
  }

  void fill(std::uint64_t seed) override {
    std::ranges::fill(target_.bytes(), std::byte{0});
    write(*written_, target_.bytes());
    write_pattern(source_.bytes(), seed_of_read(seed));
    write(*read_, source_.bytes());
    write_pattern(source_.bytes(), seed_of_written(seed));
  }

  void run(Repetition& repetition) override {
    const double written_s = time(repetition, [&] {
      if (writes_) queue().write(*written_, source_.bytes());
      if (reads_) now(back_).read(target_.bytes(), *read_);
      if (writes_ && reads_) queue().flush();
      if (reads_) now(back_).finish();
    });
    const double read_s = back_.timed->worked_s();
    repetition.observe("device_s", std::max(written_s, read_s));
  }

  Check verify(std::uint64_t seed) override {
    const auto arrived = received();
    Check check{static_cast<std::int64_t>(work().bytes) / ranks_, ""};
    if (writes_) check.problem = pattern_problem(arrived.first(bytes_), seed_of_written(seed));
    if (reads_ && check.problem.empty()) check.problem = pattern_problem(arrived.last(bytes_), seed_of_read(seed));
    return check;
  }

 private:
  HostMemory host_memory() const {
    if (pinned_) return {.pinned = pinned(static_cast<std::int64_t>(bytes_))};
    return {.pageable = std::make_unique<Buffer>(bytes_)};
  }
  std::uint64_t seed_of_written(std::uint64_t seed) const { return 2 * (seed * ranks_ + rank_); }
  std::uint64_t seed_of_read(std::uint64_t seed) const { return seed_of_written(seed) + 1; }

  void copy_results(std::span<std::byte> to) override {
    if (writes_) read(to.first(bytes_), *written_);
    if (reads_) std::ranges::copy(target_.bytes(), to.last(bytes_).begin());
  }

  std::size_t bytes_;
  int ranks_;
  int rank_;
  bool writes_;
  bool reads_;
  bool pinned_;
  HostMemory source_;
  HostMemory target_;
  std::unique_ptr<Array> written_;
  std::unique_ptr<Array> read_;
  Queues back_;  // for copies from the device
};

const Registration registration{{
    .name = "device.transfer",
    .title = "host-device transfer",
    .summary = "bandwidth between host memory and device memory",
    .needs = {Requirement::device},
    .rungs = {{Pattern::device_link, "bandwidth_bytes_per_s",
               "direction=to_device memory=pinned,pageable device=*"},
              {Pattern::device_link, "bandwidth_bytes_per_s",
               "direction=to_host memory=pinned,pageable device=*"}},
    .parameters = {problem("direction", "to_device,to_host,both", "to the device, to the host, or both ways")
                       .worded("to the device,to the host,both ways"),
                   layout("memory", "pinned,pageable", "host memory: pinned by the driver, or ordinary (pageable)")
                       .worded(",pageable"),
                   device_parameter(),
                   size("transfer_bytes", "B", 1 << 20, 1, std::int64_t{1} << 36, "bytes of each copy")},
    .definition = Definition::max_rank,
    .metrics = {bytes_per_second(), seconds("time_s"), phase("device_s").labeled("device-clock time")},
    .sweeps = {{"standard",
                "nodes=types ranks=1 direction=to_device,to_host memory=pinned,pageable "
                "transfer_bytes=4Ki,256Ki,16Mi,64Mi"},
               {"standard", "nodes=types ranks=1 direction=both memory=pinned transfer_bytes=64Mi"}},
    .make = make<DeviceTransfer>,
}};

}  // namespace
}  // namespace scope::device_transfer
