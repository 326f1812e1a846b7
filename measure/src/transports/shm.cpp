// A queue in shared memory with one writer and one reader, in each direction: what a message-passing library
// can do inside a host without the kernel.
//
// A slot's first line holds its ticket and, of a short message, the bytes too: a short message costs the
// transfer of one cache line. Longer ones are copied in and out, slot by slot, so that both copies overlap.
#include <atomic>
#include <cstdint>
#include <cstring>

#include "transports/relax.hpp"
#include "transports/shared_memory.hpp"
#include "transports/transport.hpp"

namespace scope {
namespace {

constexpr std::size_t inline_bytes = line_bytes - 2 * sizeof(std::uint64_t);
constexpr std::size_t slot_bytes = 8192;
constexpr std::uint64_t slots = 32;
constexpr int looks = 128;

struct Slot {
  alignas(apart_bytes) std::atomic<std::uint64_t> ticket;  // 1 + the message's number once it is there
  std::uint64_t bytes;
  std::byte brief[inline_bytes];
  alignas(apart_bytes) std::byte body[slot_bytes];
};

struct Queue {
  alignas(apart_bytes) std::atomic<std::uint64_t> taken;  // by the reader, so far
  Slot slot[slots];
};

class Shm final : public Transport {
 public:
  explicit Shm(const Partner& partner)
      : Transport(false),
        memory_(partner, 2 * sizeof(Queue)),
        out_(queue(partner.leads ? 0 : 1)),
        in_(queue(partner.leads ? 1 : 0)) {}

 protected:
  std::size_t send_some(std::span<const std::byte> rest, bool) override {
    if (sent_ - known_taken_ == slots) {
      known_taken_ = out_->taken.load(std::memory_order_acquire);
      if (sent_ - known_taken_ == slots) return 0;
    }
    Slot& slot = out_->slot[sent_ % slots];
    const std::size_t bytes = std::min(rest.size(), slot_bytes);
    std::memcpy(bytes <= inline_bytes ? slot.brief : slot.body, rest.data(), bytes);
    slot.bytes = bytes;
    slot.ticket.store(++sent_, std::memory_order_release);
    return bytes;
  }

  std::size_t receive_some(std::span<std::byte> rest, bool) override {
    Slot& slot = in_->slot[received_ % slots];
    for (int look = 0; slot.ticket.load(std::memory_order_acquire) != received_ + 1; ++look) {
      if (look == looks) return 0;
    }
    const std::size_t bytes = std::min<std::size_t>(slot.bytes, rest.size());
    std::memcpy(rest.data(), bytes <= inline_bytes ? slot.brief : slot.body, bytes);
    in_->taken.store(++received_, std::memory_order_release);
    return bytes;
  }

 private:
  Queue* queue(int which) const { return reinterpret_cast<Queue*>(memory_.data()) + which; }

  SharedMemory memory_;
  Queue* out_;
  Queue* in_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t known_taken_ = 0;
};

}  // namespace

std::unique_ptr<Transport> connect_shm(const Partner& partner, const TransportOptions&) {
  need_one_host(partner, "shm");
  return std::make_unique<Shm>(partner);
}

}  // namespace scope
