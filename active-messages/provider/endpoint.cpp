#include "endpoint.hpp"

#include <rdma/fi_cm.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "settings.hpp"

namespace scope::provider {
namespace {

constexpr auto progress_nap = std::chrono::milliseconds(2);
constexpr auto longest_nap = std::chrono::milliseconds(100);
constexpr std::chrono::nanoseconds look_for_room = std::chrono::microseconds(50);
constexpr auto sign_of_life = std::chrono::milliseconds(100);

template <class Object>
void erase_one(std::vector<Object>& objects, const Object& object) {
  const auto found = std::ranges::find(objects, object);
  if (found != objects.end()) objects.erase(found);
}

}  // namespace

Endpoint::Endpoint(Domain& of, const fi_info& info)
    : fid_ep{},
      domain(of),
      send_flags(info.tx_attr != nullptr ? info.tx_attr->op_flags : 0),
      receive_flags(info.rx_attr != nullptr ? info.rx_attr->op_flags : 0),
      directed((info.caps & FI_DIRECTED_RECV) != 0) {}

void Endpoint::stop() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  while (::write(stop_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
}

Endpoint::~Endpoint() {
  exchange.reset();  // the last completions still need their queues
  if (addresses_ != nullptr) erase_one(addresses_->endpoints, this);
  if (sends_ != nullptr) erase_one(sends_->endpoints, this);
  if (receives_ != nullptr && receives_ != sends_) erase_one(receives_->endpoints, this);
  for (const CountedBy& by : counters_) erase_one(by.counter->endpoints, this);
}

int Endpoint::bind(fid_t bound, std::uint64_t flags) {
  switch (bound->fclass) {
    case FI_CLASS_AV:
      if (addresses_ != nullptr) return -FI_EINVAL;
      addresses_ = &object_of<AddressVector, fid_av>(bound);
      addresses_->endpoints.push_back(this);
      return 0;
    case FI_CLASS_CQ: {
      auto* queue = &object_of<CompletionQueue, fid_cq>(bound);
      if (((flags & FI_TRANSMIT) && sends_ != nullptr) || ((flags & FI_RECV) && receives_ != nullptr))
        return -FI_EINVAL;
      if (queue != sends_ && queue != receives_) queue->endpoints.push_back(this);
      if (flags & FI_TRANSMIT) {
        sends_ = queue;
        selective_sends_ = (flags & FI_SELECTIVE_COMPLETION) != 0;
      }
      if (flags & FI_RECV) {
        receives_ = queue;
        selective_receives_ = (flags & FI_SELECTIVE_COMPLETION) != 0;
      }
      return 0;
    }
    case FI_CLASS_CNTR: {
      auto* counter = &object_of<Counter, fid_cntr>(bound);
      counters_.push_back({counter, flags});
      counter->endpoints.push_back(this);
      return 0;
    }
    case FI_CLASS_EQ: return 0;
    default: return -FI_EINVAL;
  }
}

int Endpoint::enable() {
  if (exchange) return 0;
  if (addresses_ == nullptr) return -FI_ENOAV;
  try {
    const Settings asked = settings();
    exchange.emplace(asked.transport, asked.eager_bytes, domain.memory, *this);
    if (asked.has_thread()) {
      stop_ = active_messages::Descriptor(::eventfd(0, EFD_CLOEXEC));
      if (!stop_)
        throw active_messages::Error(std::string("no event for the progress thread: ") + std::strerror(errno));
      // Blocks all signals, so that the program's own threads handle them.
      sigset_t all, before;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
      thread_ = std::thread(
          [this, progress = asked.progress] { progress == Progress::thread ? keep_going() : keep_alive(); });
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
  } catch (const active_messages::Error& error) {
    std::fprintf(stderr, "libfabric provider scope: %s\n", error.what());
    return -FI_ENODEV;
  }
  for (fi_addr_t index = 0; index < addresses_->addresses.size(); ++index) add_peer(index);
  return 0;
}

std::chrono::nanoseconds Endpoint::arrivals(std::chrono::nanoseconds at_most, std::vector<pollfd>& waiting) {
  if (!exchange) return at_most;
  if (exchange->held_up()) at_most = std::min(at_most, look_for_room);
  const active_messages::Arrivals all = exchange->endpoint().arrivals(at_most);
  for (const int descriptor : all.descriptors) waiting.push_back({descriptor, POLLIN, 0});
  return all.at_most;
}

void sleep(std::vector<pollfd>& waiting, std::chrono::nanoseconds at_most) {
  if (at_most.count() <= 0) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
  const timespec patience{static_cast<time_t>(seconds.count()), static_cast<long>((at_most - seconds).count())};
  ::ppoll(waiting.data(), waiting.size(), &patience, nullptr);
}

// Used without a progress thread, so that a program that computes for a long time is not taken for dead.
void Endpoint::keep_alive() {
  for (std::uint64_t seen = 0;;) {
    std::vector<pollfd> waiting{{stop_.get(), POLLIN, 0}};
    sleep(waiting, sign_of_life);
    if (waiting.front().revents != 0) return;
    const std::uint64_t before = std::exchange(seen, calls_.load(std::memory_order_relaxed));
    if (before != seen) continue;
    const Guard guard(domain.lock);
    exchange->progress();
  }
}

// The progress thread. While the program makes progress itself, the thread only checks from time to time whether
// it still does.
void Endpoint::keep_going() {
  for (std::uint64_t seen = 0;;) {
    std::vector<pollfd> waiting{{stop_.get(), POLLIN, 0}};
    std::chrono::nanoseconds nap = progress_nap;
    const std::uint64_t before = std::exchange(seen, calls_.load(std::memory_order_relaxed));
    if (before == seen) {
      const Guard guard(domain.lock);
      exchange->progress();
      nap = arrivals(longest_nap, waiting);
    }
    sleep(waiting, nap);
    if (waiting.front().revents != 0) return;
  }
}

int Endpoint::name(void* address, std::size_t* bytes) const {
  if (!exchange) return -FI_EOPBADSTATE;
  const active_messages::Address& own = const_cast<Exchange&>(*exchange).endpoint().address();
  const std::size_t room = std::exchange(*bytes, sizeof own);
  if (address != nullptr) std::memcpy(address, &own, std::min(room, sizeof own));
  return room < sizeof own ? -FI_ETOOSMALL : 0;
}

bool Endpoint::add_peer(fi_addr_t index) {
  if (!exchange) return true;  // checked when the endpoint is enabled
  if (peers_.size() <= index) peers_.resize(index + 1);
  try {
    const Peer peer = exchange->endpoint().add(addresses_->addresses[index]);
    peers_[index] = peer;
    if (indices_.size() <= peer) indices_.resize(peer + 1, FI_ADDR_NOTAVAIL);
    indices_[peer] = index;
    return true;
  } catch (const active_messages::Error& error) {
    std::fprintf(stderr, "libfabric provider scope: %s\n", error.what());
    return false;
  }
}

std::optional<Peer> Endpoint::peer_of(fi_addr_t index) const {
  return index < peers_.size() && !addresses_->removed[index] ? peers_[index] : std::nullopt;
}

fi_addr_t Endpoint::index_of(Peer peer) const {
  return peer < indices_.size() ? indices_[peer] : FI_ADDR_NOTAVAIL;
}

void Endpoint::sent(const Done& done, bool completes) {
  tell(sends_, done, completes);
  count(FI_SEND, done.error != 0);
}

void Endpoint::received(const Done& done, bool completes) {
  tell(receives_, done, completes);
  count(FI_RECV, done.error != 0);
}

void Endpoint::accessed(const Done& done, bool completes) {
  tell(sends_, done, completes);
  count(done.flags & (FI_READ | FI_WRITE), done.error != 0);
}

void Endpoint::tell(CompletionQueue* queue, const Done& done, bool completes) {
  if (queue == nullptr || (!completes && done.error == 0)) return;
  fi_cq_err_entry entry{};
  entry.op_context = done.context;
  entry.flags = done.flags;
  entry.len = done.bytes;
  entry.buf = done.buffer;
  entry.data = done.data;
  entry.tag = done.tag;
  entry.olen = done.excess_bytes;
  entry.err = done.error;
  entry.prov_errno = done.error;
  if (done.error != 0) queue->causes.push_back(done.cause);
  queue->entries.push_back({entry, index_of(done.source)});
}

void Endpoint::count(std::uint64_t kind, bool failed) {
  for (const CountedBy& by : counters_)
    if (by.kinds & kind) ++(failed ? by.counter->failed : by.counter->completed);
}

namespace {

int close_endpoint(fid* id) {
  return guarded([&] {
    auto* endpoint = &object_of<Endpoint, fid_ep>(id);
    endpoint->stop();  // without the lock, because the thread may be waiting for it
    const Guard guard(endpoint->domain.lock);
    delete endpoint;
    return 0;
  });
}

int bind_endpoint(fid* id, fid* bound, std::uint64_t flags) {
  return locked(id, [&](Endpoint& endpoint) { return endpoint.bind(bound, flags); });
}

int control_endpoint(fid* id, int command, void* argument) {
  return locked(id, [&](Endpoint& endpoint) {
    auto* flags = static_cast<std::uint64_t*>(argument);
    switch (command) {
      case FI_ENABLE: return endpoint.enable();
      case FI_GETOPSFLAG: *flags = *flags & FI_TRANSMIT ? endpoint.send_flags : endpoint.receive_flags; return 0;
      case FI_SETOPSFLAG:
        (*flags & FI_TRANSMIT ? endpoint.send_flags : endpoint.receive_flags) = *flags & ~(FI_TRANSMIT | FI_RECV);
        return 0;
      default: return -FI_ENOSYS;
    }
  });
}

ssize_t cancel(fid* id, void* context) {
  return locked_exchange(id, [&](Endpoint& endpoint) { return endpoint.exchange->cancel(context); });
}

int get_option(fid* id, int level, int name, void* value, std::size_t* bytes) {
  const Endpoint& endpoint = object_of<Endpoint, fid_ep>(id);
  if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV) return -FI_ENOPROTOOPT;
  if (*bytes < sizeof endpoint.minimum_shared_bytes) return -FI_ETOOSMALL;
  std::memcpy(value, &endpoint.minimum_shared_bytes, sizeof endpoint.minimum_shared_bytes);
  *bytes = sizeof endpoint.minimum_shared_bytes;
  return 0;
}

int set_option(fid* id, int level, int name, const void* value, std::size_t bytes) {
  Endpoint& endpoint = object_of<Endpoint, fid_ep>(id);
  if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV) return -FI_ENOPROTOOPT;
  if (bytes != sizeof endpoint.minimum_shared_bytes) return -FI_EINVAL;
  std::memcpy(&endpoint.minimum_shared_bytes, value, sizeof endpoint.minimum_shared_bytes);
  return 0;
}

int get_name(fid* id, void* address, std::size_t* bytes) {
  return object_of<Endpoint, fid_ep>(id).name(address, bytes);
}

fi_ops object_functions{.size = sizeof(fi_ops),
                        .close = close_endpoint,
                        .bind = bind_endpoint,
                        .control = control_endpoint,
                        .ops_open = unsupported,
                        .tostr = nullptr,
                        .ops_set = nullptr};

fi_ops_ep endpoint_functions{.size = sizeof(fi_ops_ep),
                             .cancel = cancel,
                             .getopt = get_option,
                             .setopt = set_option,
                             .tx_ctx = unsupported,
                             .rx_ctx = unsupported,
                             .rx_size_left = unsupported,
                             .tx_size_left = unsupported};

fi_ops_cm name_functions{.size = sizeof(fi_ops_cm),
                         .setname = unsupported,
                         .getname = get_name,
                         .getpeer = unsupported,
                         .connect = unsupported,
                         .listen = unsupported,
                         .accept = unsupported,
                         .reject = unsupported,
                         .shutdown = unsupported,
                         .join = unsupported};

}  // namespace

int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** result, void* context) {
  if (info->ep_attr != nullptr && info->ep_attr->type != FI_EP_RDM && info->ep_attr->type != FI_EP_UNSPEC)
    return -FI_ENOSYS;
  return guarded([&] {
    auto* endpoint = new Endpoint(object<Domain>(domain), *info);
    endpoint->cm = &name_functions;
    endpoint->msg = &message_functions;
    endpoint->rma = &access_functions;
    endpoint->tagged = &tagged_functions;
    endpoint->atomic = &atomic_functions;
    return hand_over(endpoint, {FI_CLASS_EP, context, &object_functions}, endpoint_functions, result);
  });
}

}  // namespace scope::provider
