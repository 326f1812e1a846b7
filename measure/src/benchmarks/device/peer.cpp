// device.peer: bandwidth between the memories of two devices of a host.
//
// Timed: one copy, from the call on the host until the data have arrived, on the host's clock; and the copy alone
// on the sending device's clock.

#include "devices/device_benchmark.hpp"

namespace scope::device_peer {
namespace {

using namespace devices;

class DevicePeer final : public DeviceBenchmark {
 public:
  DevicePeer(const Parameters& parameters, const Communicator& communicator)
      : DeviceBenchmark(parameters, communicator),
        bytes_(static_cast<std::size_t>(parameters.integer("transfer_bytes"))),
        peer_(device_of_rank(Communicator::on_this_host(communicator), parameters.integer("peer"))) {
    if (peer_.device == &device())
      throw Unavailable(sentence({"peer=", parameters.integer("peer"), ": is the device itself"}));
    peer_.require_room(parameters.integer("transfer_bytes"), 1);
    require_room(parameters.integer("transfer_bytes"), 1);
    device().reach(*peer_.device, parameters.choice("access") == "direct");
    arrived_ = peer_.device->array(parameters.integer("transfer_bytes"));
    sent_ = array(parameters.integer("transfer_bytes"));
    expect_results(bytes_);
  }

  Work work() const override { return {.bytes = static_cast<double>(bytes_)}; }

  void fill(std::uint64_t seed) override {
    Buffer contents(bytes_);
    contents.clear();
    on_peer([&](Queue& queue) { queue.write(*arrived_, contents.bytes()); });
    write_pattern(contents.bytes(), seed);
    write(*sent_, contents.bytes());
  }

  void run(Repetition& repetition) override {
    repetition.observe("device_s", time(repetition, [&] { queue().copy(*arrived_, *sent_); }));
  }

  Check verify(std::uint64_t seed) override {
    return {static_cast<std::int64_t>(bytes_), pattern_problem(received(), seed)};
  }

  std::vector<ControlVariable> settings() const override {
    auto all = DeviceBenchmark::settings();
    all.push_back({"peer_name", peer_.device->facts().name});
    all.push_back({"peer_pci_address", peer_.device->facts().pci_address});
    return all;
  }

 private:
  void copy_results(std::span<std::byte> to) override {
    on_peer([&](Queue& queue) { queue.read(to, *arrived_); });
  }

  // Uses a queue of the other device. A new queue makes its device the current device of the thread.
  template <class Enqueue>
  void on_peer(Enqueue enqueue) {
    const auto queue = peer_.device->queue(false);
    enqueue(*queue);
    queue->finish();
    device().queue(false);
  }

  std::size_t bytes_;
  DeviceOfRank peer_;
  std::unique_ptr<Array> sent_;
  std::unique_ptr<Array> arrived_;
};

const Registration registration{{
    .name = "device.peer",
    .title = "transfer between devices",
    .summary = "bandwidth between the memories of two devices of a host",
    .needs = {Requirement::device},
    .ranks = Ranks::exactly(1),
    .parameters = {call("access", "direct,through_host",
                        "the devices reach each other's memory, or the driver copies through host memory")
                       .worded(",through the host"),
                   device_parameter(),
                   layout("peer", "", 1, 0, 1023, "index of the device that receives").worded("to device {}"),
                   size("transfer_bytes", "B", 1 << 20, 1, std::int64_t{1} << 36, "bytes of a copy")},
    .definition = Definition::max_rank,
    .metrics = {bytes_per_second(), seconds("time_s"), phase("device_s").labeled("device-clock time")},
    .sweeps = {{"standard",
                "nodes=types ranks=1 access=direct,through_host peer=1 transfer_bytes=4Ki,256Ki,16Mi,64Mi"}},
    .make = make<DevicePeer>,
}};

}  // namespace
}  // namespace scope::device_peer
