#include "endpoint.hpp"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "channel.hpp"
#include "identity.hpp"
#include "inbox.hpp"
#include "interface.hpp"
#include "shared_memory.hpp"
#include "wire_channel.hpp"

namespace scope::active_messages {
namespace {

constexpr std::size_t queued_replies_limit = 256;  // per peer; beyond it, the peer is not granted anything
constexpr std::size_t peers_limit = 65'536;
constexpr auto linger_limit = std::chrono::milliseconds(500);
constexpr int yields_before_sleep = 16;
constexpr auto unpollable_nap = std::chrono::microseconds(50);  // for channels without a descriptor

// A reply for which there was no room, with its own copy of the bytes.
struct QueuedReply {
  Handler handler;
  std::vector<std::byte> header, payload;
};

struct Known {
  Address address;
  Channel* channel;
  bool alive = true;
  std::deque<QueuedReply> replies = {};
};

struct Departed {
  Peer peer;
  bool farewell;
  std::string how;
};

struct Exposed {
  std::byte* memory;
  std::size_t bytes;
};

void sleep(const Arrivals& arrivals) {
  std::vector<pollfd> waiting;
  for (const int descriptor : arrivals.descriptors) waiting.push_back({descriptor, POLLIN, 0});
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(arrivals.at_most);
  const timespec patience{static_cast<time_t>(seconds.count()),
                          static_cast<long>((arrivals.at_most - seconds).count())};
  if (arrivals.at_most.count() > 0) ::ppoll(waiting.data(), waiting.size(), &patience, nullptr);
}

bool same_process(const Address& one, const Address& other) {
  return std::tie(one.ethernet, one.port, one.process) == std::tie(other.ethernet, other.port, other.process);
}

}  // namespace

struct Endpoint::State final : Sink {
  explicit State(const Options& asked);
  ~State();

  void deliver(Peer source, const Message& message) override;
  std::byte* target(Region region, std::size_t offset, std::size_t bytes) override;
  bool open(Peer peer) const override { return peers[peer].replies.size() < queued_replies_limit; }
  std::optional<Peer> admit(const Address& address) override;
  void died(Peer peer, bool farewell, std::string how) override;

  Peer add(const Address& address);
  Channel& channel_to(const Address& address) const;
  void check(Peer peer, Handler handler, Bytes header, Bytes payload) const;
  void send_replies(Time now);
  Arrivals arrivals(std::chrono::nanoseconds at_most);

  Options options;
  std::optional<Port> port;
  Address self;
  std::unique_ptr<Channel> wire, memory;  // either may be absent
  std::vector<Channel*> channels;
  std::deque<Known> peers;
  std::vector<Peer> with_replies;
  std::vector<std::pair<Action, void*>> handlers;
  Death on_death = nullptr;
  void* of_death = nullptr;
  std::vector<Departed> departed;  // reported by the next poll()
  std::unordered_map<Region, Exposed> regions;
  Region next_region = 1;
  std::uint64_t refused_calls = 0, unknown_handlers = 0;
  Time polled{};  // start of the poll that runs handlers; reading the clock costs as much as a tag
  int fruitless_waits = 0;
  bool ending = false;
};

Endpoint::State::State(const Options& asked) : options(asked) {
  self.host = host_identity();
  self.process = process_identity();
  const bool wired = options.wire != Wire::none;
  std::optional<Interface> interface;
  if (wired) {
    if (options.session_key == SessionKey{})
      throw Error(
          "Options::session_key is zero: it authenticates every frame; give all processes the same random key");
    interface = interface_named(options.interface);
    self.ethernet = interface->address;
  }
  port.emplace(wired ? options.interface : "");
  self.port = port->number();
  if (wired)
    wire =
        std::make_unique<WireChannel>(open_wire(options.wire, *interface, self.port, options.loss), options, self);
  memory = shared_memory(options, self);
  for (Channel* channel : {memory.get(), wire.get()})
    if (channel != nullptr) channels.push_back(channel);
}

Endpoint::State::~State() {
  ending = true;
  const Time patience = Clock::now() + linger_limit;
  send_replies(Clock::now());
  for (Channel* channel : channels) channel->farewell(Clock::now());
  const auto idle = [](const Channel* channel) { return channel->idle(); };
  while (!std::all_of(channels.begin(), channels.end(), idle) && Clock::now() < patience) {
    for (Channel* channel : channels) channel->poll(Clock::now(), *this);
    sleep(arrivals(std::chrono::microseconds(100)));
  }
}

void Endpoint::State::deliver(Peer source, const Message& message) {
  if (ending) return;
  if (message.handler >= handlers.size()) {
    ++unknown_handlers;
    return;
  }
  const auto [run, context] = handlers[message.handler];
  run(context, source, message.header, message.payload);
}

std::byte* Endpoint::State::target(Region region, std::size_t offset, std::size_t bytes) {
  const auto found = regions.find(region);
  if (ending || found == regions.end() || offset > found->second.bytes || bytes > found->second.bytes - offset)
    return nullptr;
  return found->second.memory + offset;
}

std::optional<Peer> Endpoint::State::admit(const Address& address) {
  if (peers.size() >= peers_limit) return {};
  return add(address);
}

void Endpoint::State::died(Peer peer, bool farewell, std::string how) {
  peers[peer].alive = false;
  peers[peer].replies.clear();
  departed.push_back({peer, farewell, std::move(how)});
}

Peer Endpoint::State::add(const Address& address) {
  for (Peer peer = 0; peer < peers.size(); ++peer)
    if (same_process(peers[peer].address, address)) return peer;
  if (peers.size() >= peers_limit) throw Error("more than " + std::to_string(peers_limit) + " peers");
  Channel& channel = channel_to(address);
  const Peer peer = static_cast<Peer>(peers.size());
  peers.push_back({address, &channel});
  channel.add(peer, address);
  return peer;
}

Channel& Endpoint::State::channel_to(const Address& address) const {
  if (memory && address.host == self.host) return *memory;
  if (!wire) throw Error("a peer on another host needs a wire: Options::wire is none");
  if (address.ethernet == Ethernet{})
    throw Error("a peer on another host has no Ethernet address: its wire is none");
  return *wire;
}

void Endpoint::State::check(Peer peer, Handler handler, Bytes header, Bytes payload) const {
  if (peer >= peers.size()) throw std::invalid_argument("no such peer: " + std::to_string(peer));
  if (handler >= handlers.size()) throw std::invalid_argument("no such handler: " + std::to_string(handler));
  if (header.size() > header_limit || header.size() + payload.size() > peers[peer].channel->message_limit())
    throw std::invalid_argument("a message of " + std::to_string(header.size()) + " + " +
                                std::to_string(payload.size()) + " bytes; allowed are a header of " +
                                std::to_string(header_limit) + " and together " +
                                std::to_string(peers[peer].channel->message_limit()));
}

void Endpoint::State::send_replies(Time now) {
  std::vector<Peer> rest;
  for (const Peer peer : with_replies) {
    Known& known = peers[peer];
    while (!known.replies.empty()) {
      const QueuedReply& reply = known.replies.front();
      if (known.channel->send(now, peer, Kind::reply, {reply.handler, reply.header, reply.payload}) ==
          Outcome::again)
        break;
      known.replies.pop_front();
    }
    if (!known.replies.empty()) rest.push_back(peer);
  }
  with_replies.swap(rest);
}

Arrivals Endpoint::State::arrivals(std::chrono::nanoseconds at_most) {
  Arrivals all{{}, at_most};
  const Time now = Clock::now();
  const auto no_later = [&](std::chrono::nanoseconds limit) { all.at_most = std::min(all.at_most, limit); };
  for (Channel* channel : channels) {
    const Time due = channel->due();
    if (!channel->arm() || due <= now) {
      no_later({});
    } else {
      if (due != Time::max()) no_later(due - now);
      if (channel->descriptor() < 0) no_later(unpollable_nap);
    }
    if (channel->descriptor() >= 0) all.descriptors.push_back(channel->descriptor());
  }
  return all;
}

Endpoint::Endpoint(const Options& options) : state_(std::make_unique<State>(options)) {}
Endpoint::~Endpoint() = default;

const Address& Endpoint::address() const { return state_->self; }

std::string Endpoint::wire() const {
  return state_->wire ? state_->wire->name() : state_->memory ? state_->memory->name() : "no wire";
}

Peer Endpoint::add(const Address& address) { return state_->add(address); }

std::string Endpoint::name(Peer peer) const {
  const Address& address = state_->peers.at(peer).address;
  std::string text;
  for (const std::byte byte : address.ethernet) {
    constexpr char digits[] = "0123456789abcdef";
    const auto value = std::to_integer<unsigned>(byte);
    text += text.empty() ? "" : ":";
    text += {digits[value >> 4], digits[value & 15]};
  }
  if (address.ethernet == Ethernet{}) text = "this host";
  return text + " port " + std::to_string(address.port) + " process " + std::to_string(process_number(address));
}

std::size_t Endpoint::peers() const { return state_->peers.size(); }

bool Endpoint::alone() const {
  return std::ranges::none_of(state_->peers, [this](const Known& known) {
    return known.alive && known.address.process != state_->self.process;
  });
}

Handler Endpoint::handle(Action action, void* context) {
  state_->handlers.emplace_back(action, context);
  return static_cast<Handler>(state_->handlers.size() - 1);
}

void Endpoint::on_death(Death action, void* context) {
  state_->on_death = action;
  state_->of_death = context;
}

void Endpoint::await(Peer peer) {
  const Known& known = state_->peers.at(peer);
  if (known.alive) known.channel->await(Clock::now(), peer);
}

Outcome Endpoint::send(Peer peer, Handler handler, Bytes header, Bytes payload, bool more) {
  state_->check(peer, handler, header, payload);
  const Known& known = state_->peers[peer];
  if (!known.alive) return Outcome::peer_dead;
  // Queued replies go first.
  const Outcome outcome = known.replies.empty() ? known.channel->send(Clock::now(), peer, Kind::request,
                                                                      {handler, header, payload, more})
                                                : Outcome::again;
  state_->refused_calls += outcome == Outcome::again;
  return outcome;
}

Outcome Endpoint::reply(Peer peer, Handler handler, Bytes header, Bytes payload) {
  state_->check(peer, handler, header, payload);
  Known& known = state_->peers[peer];
  if (!known.alive) return Outcome::peer_dead;
  if (known.replies.empty()) {
    const Outcome outcome = known.channel->send(state_->polled, peer, Kind::reply, {handler, header, payload});
    if (outcome != Outcome::again) return outcome;
    state_->with_replies.push_back(peer);
  }
  known.replies.push_back({handler, {header.begin(), header.end()}, {payload.begin(), payload.end()}});
  return Outcome::done;
}

std::size_t Endpoint::message_limit(Peer peer) const { return state_->peers.at(peer).channel->message_limit(); }

Region Endpoint::expose(void* memory, std::size_t bytes) {
  const Region region = state_->next_region++;
  state_->regions[region] = {static_cast<std::byte*>(memory), bytes};
  return region;
}

void Endpoint::remove(Region region) { state_->regions.erase(region); }

Outcome Endpoint::put(Peer peer, Region region, std::size_t offset, Bytes source, Handler handler, Bytes header,
                      Completion completion, void* context) {
  state_->check(peer, handler, header, {});
  const Known& known = state_->peers[peer];
  if (!known.alive) return Outcome::peer_dead;
  const Outcome outcome =
      known.channel->put(Clock::now(), peer, {region, offset, source, {handler, header, {}}, completion, context});
  state_->refused_calls += outcome == Outcome::again;
  return outcome;
}

void Endpoint::share_processor(bool shared) {
  for (Channel* channel : state_->channels) channel->share_processor(shared);
}

int Endpoint::poll() {
  const Time now = state_->polled = Clock::now();
  if (!state_->with_replies.empty()) state_->send_replies(now);
  int done = 0;
  for (Channel* channel : state_->channels) done += channel->poll(now, *state_);
  for (const Departed& departed : std::exchange(state_->departed, {}))
    if (state_->on_death != nullptr)
      state_->on_death(state_->of_death, departed.peer, departed.farewell, departed.how);
  if (done > 0) state_->fruitless_waits = 0;
  return done;
}

void Endpoint::wait(std::chrono::microseconds at_most) {
  // A yield is cheap and returns at once; a program that waits longer lets the processor sleep.
  if (state_->fruitless_waits++ < yields_before_sleep) {
    ::sched_yield();
    return;
  }
  sleep(state_->arrivals(at_most));
}

Arrivals Endpoint::arrivals(std::chrono::nanoseconds at_most) { return state_->arrivals(at_most); }

Statistics Endpoint::statistics() const {
  Statistics all{};
  for (const Channel* channel : state_->channels) channel->add_to(all);
  all.credit_waits += state_->refused_calls;
  all.foreign += state_->unknown_handlers;
  return all;
}

}  // namespace scope::active_messages
