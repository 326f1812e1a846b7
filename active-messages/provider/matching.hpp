// Receives that wait for messages, and messages that wait for receives, in one queue (tagged or plain). Both are
// matched in order, as libfabric's FI_ORDER_SAS and MPI require.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "../src/endpoint.hpp"

namespace scope::provider {

using active_messages::Peer;

inline constexpr Peer any_peer = ~Peer{0};

// The start of every message: the data to match, and the number under which the sender keeps the message.
struct Envelope {
  std::uint64_t tag;
  std::uint64_t data;       // FI_REMOTE_CQ_DATA
  std::uint64_t operation;  // operation of the sender; 0: no answer needed
  std::uint64_t bytes;
  std::uint64_t flags;
};

namespace envelope {
inline constexpr std::uint64_t tagged = 1;
inline constexpr std::uint64_t with_data = 2;
}  // namespace envelope

// A buffer that receives one message after another (FI_MULTI_RECV).
struct SharedBuffer {
  std::byte* next;
  std::size_t left;
  std::size_t minimum;   // retired when less is left
  unsigned landing = 0;  // number of messages whose bytes are still in flight
};

struct Receive {
  std::byte* buffer;
  std::size_t bytes;
  Peer source;  // or any_peer
  std::uint64_t tag, ignore;
  void* context;
  bool completes;                        // whether it is reported to the completion queue
  std::shared_ptr<SharedBuffer> shared;  // instead of `buffer`

  bool takes(Peer from, std::uint64_t with) const {
    return (source == any_peer || source == from) && ((with ^ tag) & ~ignore) == 0;
  }
};

struct Arrival {
  Peer source;
  Envelope envelope;
  bool whole;  // false: the sender waits for a buffer
  std::vector<std::byte> payload;
};

class Matching {
 public:
  // The first receive that matches this message; removed unless its buffer is shared with further messages.
  std::optional<Receive> receive_for(Peer source, const Envelope& envelope) {
    const auto found =
        std::ranges::find_if(posted_, [&](const Receive& receive) { return receive.takes(source, envelope.tag); });
    if (found == posted_.end()) return std::nullopt;
    if (found->shared) return *found;
    Receive receive = std::move(*found);
    posted_.erase(found);
    return receive;
  }
  // The first message that matches this receive; removed.
  std::optional<Arrival> arrival_for(const Receive& receive) {
    const auto found = std::ranges::find_if(
        unexpected_, [&](const Arrival& arrival) { return receive.takes(arrival.source, arrival.envelope.tag); });
    if (found == unexpected_.end()) return std::nullopt;
    Arrival arrival = std::move(*found);
    unexpected_.erase(found);
    return arrival;
  }
  // The first message for a receive, which stays in the queue; nullptr if there is none.
  const Arrival* first_for(const Receive& receive) const {
    const auto found = std::ranges::find_if(
        unexpected_, [&](const Arrival& arrival) { return receive.takes(arrival.source, arrival.envelope.tag); });
    return found == unexpected_.end() ? nullptr : &*found;
  }

  void post(Receive receive) { posted_.push_back(std::move(receive)); }
  void keep(Arrival arrival) { unexpected_.push_back(std::move(arrival)); }
  void retire(const SharedBuffer& buffer) {
    posted_.remove_if([&](const Receive& receive) { return receive.shared.get() == &buffer; });
  }
  std::optional<Receive> cancel(const void* context) {
    const auto found = std::ranges::find(posted_, context, &Receive::context);
    if (found == posted_.end()) return std::nullopt;
    Receive receive = std::move(*found);
    posted_.erase(found);
    return receive;
  }
  // Removes and returns the receives from this peer or from any peer, except shared buffers for any peer.
  std::vector<Receive> withdraw(Peer source) {
    std::vector<Receive> withdrawn;
    for (auto receive = posted_.begin(); receive != posted_.end();) {
      if (receive->source == source && !(source == any_peer && receive->shared)) {
        withdrawn.push_back(std::move(*receive));
        receive = posted_.erase(receive);
      } else {
        ++receive;
      }
    }
    return withdrawn;
  }

 private:
  std::list<Receive> posted_;
  std::list<Arrival> unexpected_;
};

}  // namespace scope::provider
