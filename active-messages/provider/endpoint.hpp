// The endpoint as seen by libfabric: translates calls and flags for the exchange, and events of the exchange for
// completion queues and counters.
#pragma once

#include <poll.h>
#include <rdma/fi_endpoint.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "../src/descriptor.hpp"
#include "address_vector.hpp"
#include "completion_queue.hpp"
#include "counter.hpp"
#include "domain.hpp"
#include "exchange.hpp"

namespace scope::provider {

class Endpoint final : public fid_ep, public Listener {
 public:
  Endpoint(Domain& of, const fi_info& info);
  ~Endpoint();

  int bind(fid_t object, std::uint64_t flags);
  int enable();
  void stop();  // stops the progress thread, before the end
  int name(void* address, std::size_t* bytes) const;

  // `index` in the bound address vector; false if the peer cannot be reached.
  bool add_peer(fi_addr_t index);
  std::optional<Peer> peer_of(fi_addr_t index) const;
  fi_addr_t index_of(Peer peer) const;

  // False if the processor should be yielded.
  bool progress() {
    if (!exchange) return true;
    calls_.fetch_add(1, std::memory_order_relaxed);
    return exchange->progress();
  }
  void share_processor(bool shared) {
    if (exchange) exchange->endpoint().share_processor(shared);
  }
  // Adds to `waiting` the descriptors to sleep on without the lock; returns the maximum time to sleep.
  std::chrono::nanoseconds arrivals(std::chrono::nanoseconds at_most, std::vector<pollfd>& waiting);

  // Whether a successful operation with these flags is reported to its completion queue.
  bool send_completes(std::uint64_t flags) const { return !selective_sends_ || (flags & FI_COMPLETION); }
  bool receive_completes(std::uint64_t flags) const { return !selective_receives_ || (flags & FI_COMPLETION); }

  Domain& domain;
  std::optional<Exchange> exchange;  // exists once the endpoint is enabled
  std::uint64_t send_flags, receive_flags;
  bool directed;  // whether receives specify their source
  std::size_t minimum_shared_bytes = 64;

 private:
  struct CountedBy {
    Counter* counter;
    std::uint64_t kinds;  // FI_SEND, FI_RECV, FI_READ, FI_WRITE
  };

  void sent(const Done& done, bool completes) override;
  void received(const Done& done, bool completes) override;
  void accessed(const Done& done, bool completes) override;
  void tell(CompletionQueue* queue, const Done& done, bool completes);
  void count(std::uint64_t kind, bool failed);
  void keep_alive();
  void keep_going();

  AddressVector* addresses_ = nullptr;
  CompletionQueue* sends_ = nullptr;
  CompletionQueue* receives_ = nullptr;
  bool selective_sends_ = false, selective_receives_ = false;
  std::vector<CountedBy> counters_;
  std::vector<std::optional<Peer>> peers_;  // peers by index in the address vector
  std::vector<fi_addr_t> indices_;          // indices by peer

  std::atomic<std::uint64_t> calls_ = 0;  // number of the program's calls that made progress
  active_messages::Descriptor stop_;      // event that ends the thread
  std::thread thread_;                    // answers or makes progress while the program does not
};

void sleep(std::vector<pollfd>& waiting, std::chrono::nanoseconds at_most);

inline Endpoint& endpoint_of(fid_ep* endpoint) { return *static_cast<Endpoint*>(endpoint); }

// Runs `use` on an endpoint under its domain's lock.
template <class Use>
int locked(fid* id, Use use) {
  return guarded([&] {
    Endpoint& endpoint = object_of<Endpoint, fid_ep>(id);
    const Guard guard(endpoint.domain.lock);
    return use(endpoint);
  });
}

// Runs `use` on an enabled endpoint under the lock.
template <class Use>
int locked_exchange(fid* id, Use use) {
  return locked(id, [&](Endpoint& endpoint) { return endpoint.exchange ? use(endpoint) : -FI_EOPBADSTATE; });
}

// Runs `use` on an enabled endpoint and a peer under the lock.
template <class Use>
int locked_peer(fid_ep* id, fi_addr_t index, Use use) {
  return locked_exchange(&id->fid, [&](Endpoint& endpoint) {
    const std::optional<Peer> peer = endpoint.peer_of(index);
    return peer ? use(endpoint, *peer) : -FI_EINVAL;
  });
}

int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** result, void* context);

// The function tables of an endpoint.
extern fi_ops_msg message_functions;
extern fi_ops_tagged tagged_functions;
extern fi_ops_rma access_functions;
extern fi_ops_atomic atomic_functions;
int query_atomic(fid_domain* domain, fi_datatype datatype, fi_op operation, fi_atomic_attr* attributes,
                 std::uint64_t flags);

}  // namespace scope::provider
