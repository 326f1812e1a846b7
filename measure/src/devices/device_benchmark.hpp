// The common part of device benchmarks: each rank has a device, whose work is timed by two clocks.
#pragma once

#include "benchmark.hpp"
#include "devices/device.hpp"
#include "devices/state.hpp"

namespace scope::devices {

// Number of items in a group that most programs choose.
constexpr std::int64_t usual_group = 256;

Parameter device_parameter();

// A rank's device, and the number of ranks of its host that use it.
struct DeviceOfRank {
  Device* device;
  std::int64_t ranks;
  Counters before;

  // Throws Unavailable if this number of arrays of this size would take more than half of the free memory, which
  // is divided among the ranks of the device.
  void require_room(std::int64_t array_bytes, int arrays) const;
  // The identity of the device, and its current state.
  std::vector<ControlVariable> settings() const;
};

// Assigns devices to a host's ranks round-robin, beginning with `first`. Throws Unavailable if there is none.
DeviceOfRank device_of_rank(const Communicator& host, std::int64_t first);

class DeviceBenchmark : public Benchmark {
 public:
  std::vector<ControlVariable> settings() const override { return mine_.settings(); }

  // The host's copy of the results, made on the first call after a run.
  std::span<std::byte> received() override;

 protected:
  // Takes a device for this rank, beginning with the one that the case names. Throws Unavailable if none. Collective.
  DeviceBenchmark(const Parameters& parameters, const Communicator& communicator);

  Device& device() const { return *mine_.device; }
  const Facts& facts() const { return mine_.device->facts(); }
  std::int64_t group() const { return std::min(usual_group, facts().largest_group); }

  void expect_results(std::size_t bytes) { results_.emplace(bytes); }  // on the host
  void require_room(std::int64_t array_bytes, int arrays) const { mine_.require_room(array_bytes, arrays); }
  std::unique_ptr<Array> array(std::int64_t bytes) const { return mine_.device->array(bytes); }
  std::unique_ptr<PinnedMemory> pinned(std::int64_t bytes) const { return mine_.device->pinned(bytes); }
  std::unique_ptr<Kernel> kernel(const std::string& text, const char* name) const {
    return mine_.device->kernel(text, name);
  }
  // A queue for commands timed by the host's clock, and one for commands timed by the device's clock.
  struct Queues {
    std::unique_ptr<Queue> plain;
    std::unique_ptr<Queue> timed;
  };
  Queues further_queues() const { return {mine_.device->queue(false), mine_.device->queue(true)}; }
  bool timed_by_host() const { return timed_by_host_; }
  Queue& now(const Queues& queues) const { return timed_by_host_ ? *queues.plain : *queues.timed; }
  Queue& queue() const { return now(queues_); }
  void write(const Array& to, std::span<const std::byte> from);  // and waits until done
  void read(std::span<std::byte> to, const Array& from);         // and waits until done

  // Times the commands that `enqueue` puts into the queue until the device has done them. Then repeats them
  // untimed, and returns the seconds that the device spent on them by its own clock.
  template <class Enqueue>
  double time(Repetition& repetition, Enqueue enqueue) {
    const auto operation = [&] {
      enqueue();
      queue().finish();
    };
    repetition.time(operation);
    timed_by_host_ = false;
    operation();
    const double device_s = queue().worked_s();
    timed_by_host_ = true;
    copied_ = false;
    return device_s;
  }

 private:
  // Copies the results from the device.
  virtual void copy_results(std::span<std::byte> to) = 0;

  DeviceOfRank mine_;
  Queues queues_;
  bool timed_by_host_ = true;
  std::optional<Buffer> results_;
  bool copied_ = false;
};

}  // namespace scope::devices
