// Active messages (von Eicken, Culler, Goldstein and Schauser, ISCA 1992): a message names the handler that runs
// when it arrives. An endpoint belongs to one process; the channel to each peer (shared memory within a host, raw
// Ethernet between hosts) is chosen when the peer is added, invisibly to the caller.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace scope::active_messages {

using Bytes = std::span<const std::byte>;

// Thrown for errors that the user can fix: no such interface, a missing capability, two different session keys.
// The text names the cause and the command that fixes it.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Wire { automatic, xdp, packet, none };  // none: this host only

struct Options {
  std::string interface;  // Ethernet interface; empty with Wire::none
  Wire wire = Wire::automatic;
  bool flow_control = true;
  double loss = 0;  // fraction of arriving frames that the kernel drops, like a bad link; needs AF_PACKET
  std::array<std::byte, 16> session_key{};         // frames and segments with another key are dropped
  std::chrono::milliseconds peer_timeout{10'000};  // a peer without a sign of life for this long is dead
};

// Everything another process needs to reach this endpoint, as plain bytes that any launcher can pass on.
struct Address {
  std::array<std::byte, 6> ethernet{};  // address of the interface; zero with Wire::none
  std::uint16_t port = 0;               // of the process on this interface
  std::uint64_t host = 0;               // equal for processes that share memory (and network namespace)
  std::uint64_t process = 0;            // random number that tells a process from its successor on this port

  bool operator==(const Address&) const = default;
};

using Peer = std::uint32_t;     // consecutive index from 0, in the order of addition
using Handler = std::uint16_t;  // an index into the receiver's handlers
using Region = std::uint64_t;   // a key of registered memory, valid only at its owner

enum class Outcome { done, again, peer_dead };  // again: no credit or room now; poll and repeat the call

// Runs inside poll(). `header` and `payload` are valid until the handler returns. reply() is the only sending
// function of the endpoint that a handler may call.
using Action = void (*)(void* context, Peer source, Bytes header, Bytes payload);

// Runs inside poll() at the end of a put: at its source (all bytes acknowledged) or when the peer died.
using Completion = void (*)(void* context, Outcome outcome);

// Runs inside poll(), once for each peer that died or left, after the completions of its puts. `how` is a text to
// follow the peer's name: "gave no sign of life for 10 s". `farewell`: the peer closed its endpoint in order. The
// action may send to other peers.
using Death = void (*)(void* context, Peer peer, bool farewell, const std::string& how);

// Events for which a sleeping thread waits: see Endpoint::arrivals().
struct Arrivals {
  std::vector<int> descriptors;      // readable when something has arrived
  std::chrono::nanoseconds at_most;  // time until poll() must run in any case; 0: at once
};

struct Statistics {
  std::uint64_t messages_sent, messages_received, frames_sent, frames_received;
  std::uint64_t retransmissions, duplicates, out_of_order, corrupt,
      foreign;                 // foreign: another key, port or type
  std::uint64_t credit_waits;  // calls that returned `again`
};

class Endpoint {
 public:
  explicit Endpoint(const Options& options);  // Error
  ~Endpoint();                                // says farewell to its peers, which then do not need a timeout
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  const Address& address() const;
  std::string wire() const;  // text such as "AF_XDP (copy) on eth0" or "AF_PACKET on eth0 (CAP_BPF is missing)"

  // A peer keeps its index. A message from an address that was not added is accepted after verification of the
  // session key, and adds the address.
  Peer add(const Address& address);   // Error
  std::string name(Peer peer) const;  // text such as "02:42:ac:11:00:03 port 4 process 815"
  std::size_t peers() const;          // number of added or accepted peers, including dead ones
  bool alone() const;                 // whether all peers except this process are dead

  // Called before the first poll(), in the same order in all processes.
  Handler handle(Action action, void* context);
  void on_death(Death action, void* context);
  // Announces that a message is expected from this peer: silence now means death, even before the first message.
  void await(Peer peer);

  // Sends the header (at most header_limit bytes) and the payload in one message of at most message_limit bytes.
  // Both are copied before the call returns. Messages from one source to one peer arrive in order, exactly once.
  // `more`: another message to this peer follows at once, so that both may be sent together.
  Outcome send(Peer peer, Handler handler, Bytes header, Bytes payload, bool more = false);
  Outcome reply(Peer peer, Handler handler, Bytes header, Bytes payload);  // only inside an Action; never `again`
  std::size_t message_limit(Peer peer) const;  // one frame on a wire, a slot in shared memory
  static constexpr std::size_t header_limit = 64;

  // Registers memory that peers may write to. The owner keeps the memory alive until remove() has returned.
  Region expose(void* memory, std::size_t bytes);
  void remove(Region region);

  // Writes `source` into the peer's region at `offset`, in as many frames as needed, then runs `handler` there
  // with `header` and an empty payload. `source` must stay unchanged until `completion` has run. The end of a put
  // determines its place in the order of messages: `handler` runs after everything sent before the call, and
  // messages sent while the put is in progress may overtake it, so that a long put does not delay short messages.
  Outcome put(Peer peer, Region region, std::size_t offset, Bytes source, Handler handler, Bytes header,
              Completion completion, void* context);

  // Reports whether other processes want this processor; to be called whenever that is observed. Puts then save
  // CPU time: they need fewer passes through the kernel, at the cost of longer headers.
  void share_processor(bool shared);

  // Receives messages, runs handlers, and sends what is due (acknowledgements, retransmissions, parts of puts).
  // Returns the number of handlers and completions run. Never blocks. One thread at a time.
  int poll();
  // Blocks until there is work or the time is over; for processes that share a core.
  void wait(std::chrono::microseconds at_most);
  // The events of wait(), for a caller that must release a lock before it sleeps. Valid until the next call.
  Arrivals arrivals(std::chrono::nanoseconds at_most);

  Statistics statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scope::active_messages
