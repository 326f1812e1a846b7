// The memory of a rank's messages (host, device, or staged device memory), and whether MPI accepts it.
#pragma once

#include "devices/device_benchmark.hpp"
#include "devices/device_messages.hpp"

namespace scope::devices {

class MessageMemory final : public RankMemory {
 public:
  // `slots`: number of messages in flight at a time. Collective.
  MessageMemory(const std::string& kind, const Extent& extent, int slots, const Communicator& communicator);

  int slots() const { return slots_; }
  void* outgoing(int slot) override {
    if (!device_) return out_.data();
    if (out_staging_.empty()) return sent_->pointer();
    const auto staged = slot_of(out_staging_, slot).first(sent_bytes_);
    read(staged, *sent_);
    return staged.data();
  }
  void* incoming(int slot) override {
    if (!device_) return in_.data();
    return in_staging_.empty() ? arrived_->pointer() : slot_of(in_staging_, slot).data();
  }
  void arrived(int slot) override {
    if (!in_staging_.empty() && sent_ != arrived_)
      write(*arrived_, slot_of(in_staging_, slot).first(received_bytes_));
  }
  void fill(std::span<const std::byte> sent, std::span<const std::byte> received) override;
  void collect(std::span<std::byte> received) override;

  // Records the library's statement on device memory.
  void quote(const std::string& support) { support_ = support; }
  std::vector<ControlVariable> settings() const override;

 private:
  using Staging = std::vector<std::shared_ptr<PinnedMemory>>;
  static std::span<std::byte> slot_of(const Staging& staging, int slot) {
    return staging[static_cast<std::size_t>(slot)]->bytes();
  }
  void read(std::span<std::byte> to, const Array& from) {
    if (to.empty()) return;
    queue_->read(to, from);
    queue_->finish();
  }
  void write(const Array& to, std::span<const std::byte> from) {
    if (from.empty()) return;
    queue_->write(to, from);
    queue_->finish();
  }

  std::size_t sent_bytes_;
  std::size_t received_bytes_;
  int slots_;
  std::optional<DeviceOfRank> device_;
  std::unique_ptr<Queue> queue_;
  std::shared_ptr<Array> sent_;
  std::shared_ptr<Array> arrived_;  // same as sent_ if in place
  Staging out_staging_;
  Staging in_staging_;
  Buffer out_{0};  // for host memory
  Buffer in_{0};
  std::string support_;
};

// The library's statement on CUDA device memory. Throws Unavailable unless the library accepts it.
std::string support();

// Throws Unavailable if a case requests more than a plain exchange, as other parameters do not apply to devices.
void require_plain(const Parameters& parameters,
                   std::initializer_list<std::pair<const char*, const char*>> choices);

// Returns whether all ranks are prepared, as no rank may wait for one that is not; rethrows this rank's error.
template <class Prepare>
bool prepare_together(const Communicator& communicator, Prepare prepare) {
  std::exception_ptr failure;
  try {
    prepare();
  } catch (...) {
    failure = std::current_exception();
  }
  const bool all = !communicator.any(failure != nullptr);
  if (failure) std::rethrow_exception(failure);
  return all;
}

}  // namespace scope::devices
