#include "devices/device_benchmark.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include "mpi/simulated.hpp"

namespace scope::devices {
namespace {

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::gpu: return "gpu";
    case Kind::cpu: return "cpu";
    default: return "accelerator";
  }
}

// The node on which the calling thread runs, which is also the location of memory that it touches first.
std::int64_t numa_node() {
  unsigned processor = 0;
  unsigned node = 0;
  syscall(SYS_getcpu, &processor, &node, nullptr);
  return node;
}

}  // namespace

Parameter device_parameter() {
  return layout("device", "device", 0, 0, 1023,
                "index of the device that a host's first rank uses; the other ranks use the next devices");
}

DeviceOfRank device_of_rank(const Communicator& host, std::int64_t first) {
  if (mpi_simulates) throw Unavailable("devices are not simulated");
  const auto& devices = all();
  const auto count = static_cast<std::int64_t>(devices.size());
  if (first >= count)
    throw Unavailable(
        sentence({"no device ", first, ": this host has ", count, count == 1 ? " device" : " devices"}));
  const std::int64_t place = host.rank() % count;
  Device& device = *devices[static_cast<std::size_t>((first + place) % count)];
  return {&device, (host.size() - place + count - 1) / count, counters_of(device.facts())};
}

void DeviceOfRank::require_room(std::int64_t array_bytes, int arrays) const {
  const std::int64_t room = device->free_bytes() / 2 / ranks;
  const std::int64_t needed = array_bytes * arrays;
  const std::int64_t largest = device->facts().largest_array_bytes;
  if (needed <= room && array_bytes <= largest) return;
  throw Unavailable(sentence({"the arrays need ", needed, " B on the device, ", array_bytes,
                              " B each; a rank may use at most ", largest, " B for each array, and ", room,
                              " B in total (half of the free memory, divided by the ranks)"}));
}

std::vector<ControlVariable> DeviceOfRank::settings() const {
  const Facts& facts = device->facts();
  std::vector<ControlVariable> all{
      {"device_name", facts.name},          {"device_kind", name_of(facts.kind)},
      {"device_driver", facts.driver},      {"device_pci_address", facts.pci_address},
      {"device_remark", facts.passed_over}, {"ranks_on_device", ranks},
      {"device_start_ms", start_ms()},      {"rank_numa_node", numa_node()},
  };
  std::ranges::move(state_of(facts, before), std::back_inserter(all));
  return all;
}

DeviceBenchmark::DeviceBenchmark(const Parameters& parameters, const Communicator& communicator)
    : mine_(device_of_rank(Communicator::on_this_host(communicator), parameters.integer("device"))),
      queues_(further_queues()) {}

void DeviceBenchmark::write(const Array& to, std::span<const std::byte> from) {
  queue().write(to, from);
  queue().finish();
}

void DeviceBenchmark::read(std::span<std::byte> to, const Array& from) {
  queue().read(to, from);
  queue().finish();
}

std::span<std::byte> DeviceBenchmark::received() {
  if (!copied_) copy_results(results_->bytes());
  copied_ = true;
  return results_->bytes();
}

}  // namespace scope::devices
