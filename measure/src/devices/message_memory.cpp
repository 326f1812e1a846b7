#include "devices/message_memory.hpp"

#include <dlfcn.h>

#include <limits>

namespace scope::devices {
namespace {

// Slots of pinned memory, so that a message is copied while another one is in flight.
constexpr int staging_slots = 2;

}  // namespace

std::string support() {
  // An extension of Open MPI that MPICH and others have adopted.
  auto* query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  if (query != nullptr && query() == 1) return "MPIX_Query_cuda_support: yes";
  throw Unavailable(
      sentence({"the MPI library does not accept device memory (MPIX_Query_cuda_support: ",
                query == nullptr ? "missing" : "no", "); the value `staged` works with any library"}));
}

MessageMemory::MessageMemory(const std::string& kind, const Extent& extent, int slots,
                             const Communicator& communicator)
    : sent_bytes_(static_cast<std::size_t>(extent.sent)),
      received_bytes_(static_cast<std::size_t>(extent.received)),
      slots_(slots) {
  const Communicator host = Communicator::on_this_host(communicator);
  if (kind == "host") {
    out_ = Buffer(sent_bytes_);
    in_ = Buffer(received_bytes_);
    return;
  }
  device_ = device_of_rank(host, 0);
  device_->require_room(std::max(extent.sent, extent.received), 2);
  Device& device = *device_->device;
  queue_ = device.queue(false);
  const auto at_least_one = [](std::int64_t bytes) { return std::max<std::int64_t>(1, bytes); };
  sent_ = device.array(at_least_one(extent.sent));
  arrived_ = extent.in_place ? sent_ : device.array(at_least_one(extent.received));
  if (kind == "staged") {
    slots_ = std::min(slots, staging_slots);
    for (int slot = 0; slot < slots_; ++slot) {
      out_staging_.push_back(device.pinned(at_least_one(extent.sent)));
      in_staging_.push_back(extent.in_place ? out_staging_.back() : device.pinned(at_least_one(extent.received)));
    }
  } else if (sent_->pointer() == nullptr) {
    throw Unavailable(device.facts().driver +
                      ": MPI cannot use this driver's pointers; the value `staged` works with any driver");
  }
}

void MessageMemory::fill(std::span<const std::byte> sent, std::span<const std::byte> received) {
  if (!device_) {
    std::ranges::copy(sent, out_.data());
    std::ranges::copy(received, in_.data());
    return;
  }
  write(*sent_, sent);
  write(*arrived_, received);
  for (const auto* staging : {&out_staging_, &in_staging_})
    for (const auto& slot : *staging) std::ranges::fill(slot->bytes(), std::byte{0});
}

void MessageMemory::collect(std::span<std::byte> received) {
  if (device_)
    read(received, *arrived_);
  else
    std::ranges::copy(in_.bytes(), received.data());
}

std::vector<ControlVariable> MessageMemory::settings() const {
  auto all = device_ ? device_->settings() : std::vector<ControlVariable>();
  if (!support_.empty()) all.push_back({"device_memory_in_mpi", support_});
  return all;
}

void require_plain(const Parameters& parameters,
                   std::initializer_list<std::pair<const char*, const char*>> choices) {
  const auto refuse = [](const std::string& name, const auto& value) {
    throw Unavailable(sentence({"device memory is measured only with ", name, "=", value}));
  };
  for (const auto& [name, value] : choices)
    if (parameters.choice(name) != value) refuse(name, value);
  if (parameters.integer("offset_bytes") != 0) refuse("offset_bytes", 0);
  if (parameters.integer("rotation") != 1) refuse("rotation", 1);
  if (parameters.integer("message_bytes") > std::numeric_limits<int>::max())
    throw Unavailable("device memory is measured only with messages of less than 2 GiB");
}

std::unique_ptr<RankMemory> rank_memory(const Parameters& parameters, const Communicator& communicator,
                                        const Extent& extent) {
  require_plain(parameters, {{"call", "blocking"}, {"alignment", "line"}, {"cache", "warm"}});
  const std::string& kind = parameters.choice("memory");
  auto memory = std::make_unique<MessageMemory>(kind, extent, 1, communicator);
  if (kind == "device") memory->quote(support());
  return memory;
}

}  // namespace scope::devices
