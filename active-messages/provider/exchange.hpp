// The protocol between two endpoints of the provider, above active messages.
//
// A small message is sent at once (eager), whole or in a few parts, which the receiver joins before it matches the
// message. A large message is announced (rendezvous): the receiver matches the announcement with a buffer, exposes
// the buffer and clears the sender, which puts the bytes there. Remote writes and reads work the same way, with a
// key instead of a tag.
//
// A message without room waits in a queue of its peer, so that a program that only starts a send is not delayed
// until the peer checks its messages. Any other call without room, or a message that finds the queues full,
// returns -FI_EAGAIN without any effect. Messages of the protocol itself also wait in a queue, whose length is
// bounded by the operations in flight.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "../src/endpoint.hpp"
#include "atomic_operations.hpp"
#include "matching.hpp"
#include "memory.hpp"
#include "slots.hpp"

namespace scope::provider {

using active_messages::Bytes;
using active_messages::Outcome;
using active_messages::Region;

// The completion of an operation, for completion queues and counters.
struct Done {
  void* context = nullptr;
  std::uint64_t flags = 0;  // FI_SEND, FI_RECV, ... as reported by completion queues
  std::size_t bytes = 0;
  void* buffer = nullptr;
  std::uint64_t data = 0;
  std::uint64_t tag = 0;
  Peer source = any_peer;
  int error = 0;                 // FI_ETRUNC, FI_ECANCELED, FI_EHOSTDOWN, ...
  std::size_t excess_bytes = 0;  // bytes that did not fit
  std::string cause = {};        // human-readable cause of an error; may be empty
};

class Listener {
 public:
  // `completes`: report the operation to the completion queue, even if it succeeded.
  virtual void sent(const Done& done, bool completes) = 0;
  virtual void received(const Done& done, bool completes) = 0;
  virtual void accessed(const Done& done, bool completes) = 0;  // access to remote memory

 protected:
  ~Listener() = default;
};

// The request of fi_send() and related calls.
struct Send {
  void* context = nullptr;
  std::optional<std::uint64_t> tag = {};  // a tagged message
  std::optional<std::uint64_t> remote_data = {};
  Peer peer = any_peer;
  Bytes data = {};
  bool completes = false;
  bool delivered = false;  // complete only when the receiver has it in its buffer
  bool injected = false;   // `data` may change after the call
};

// The request of fi_write(), fi_read() and related calls.
struct Access {
  std::uint64_t offset, key;  // location in the peer's registered memory
  std::optional<std::uint64_t> remote_data = {};
  void* context = nullptr;
  Peer peer = any_peer;
  std::byte* buffer = nullptr;
  std::size_t bytes = 0;
  bool completes = false;
  bool injected = false;
};

// The request of fi_atomic() and related calls. Operands and result hold `count` elements.
struct Atomic {
  AtomicForm form;
  std::uint64_t offset, key;
  unsigned datatype, operation;
  void* context = nullptr;
  std::size_t count = 0;
  const void* operand = nullptr;  // nullptr for FI_ATOMIC_READ
  const void* compare = nullptr;
  void* result = nullptr;
  Peer peer = any_peer;
  bool completes = false;
};

inline constexpr std::size_t eager_bytes_most = 64 * 1024;

class Exchange {
 public:
  // Messages of up to `eager_bytes` are sent at once.
  Exchange(const active_messages::Options& options, std::size_t eager_bytes, const MemoryTable& memory,
           Listener& listener);
  ~Exchange();  // first sends what was accepted, if peers take it

  active_messages::Endpoint& endpoint() { return endpoint_; }

  // These return 0, -FI_EAGAIN or another negative error.
  int send(const Send& send);
  int write(const Access& access);
  int read(const Access& access);
  int atomic(const Atomic& atomic);

  void receive(bool tagged, Receive receive);
  // FI_PEEK, with FI_CLAIM and FI_DISCARD: completes with the message a receive would take, or FI_ENOMSG.
  void peek(bool tagged, const Receive& receive, bool claim, bool discard);
  // Receives or discards the message claimed under this context; -FI_EINVAL if there is none.
  int receive_claimed(const Receive& receive, bool discard);
  int cancel(const void* context);

  // False if nothing has happened for so long that the processor should be yielded.
  bool progress();
  // Whether something waits for room. Peers do not announce new room, so progress() must check.
  bool held_up() const { return !waiting_.empty() || !leaving_.empty() || !queued_.empty(); }

 private:
  struct Operation {  // operation of this endpoint, until its peer has answered
    Peer peer;
    Bytes source = {};
    std::byte* target = nullptr;  // target of a read
    Region region = 0;            // region of a large read; 0: none
    Done done;
    bool completes;
    std::vector<std::byte> copy = {};  // of injected data
    Exchange* exchange = nullptr;      // set when the operation starts, like its number
    std::uint64_t number = 0;
  };

  struct Landing {  // message or write of a peer, until its bytes have arrived
    Done done;
    Region region;
    bool completes;
    bool access;  // a remote write, else a message
    std::shared_ptr<SharedBuffer> shared;
  };

  struct Waiting {  // message of the protocol to send
    Peer peer;
    active_messages::Handler handler;
    std::array<std::byte, active_messages::Endpoint::header_limit> header = {};
    std::uint8_t header_bytes;
    Region region = 0;            // region of the peer; 0: a message
    Bytes source = {};            // source of the put
    std::uint64_t operation = 0;  // operation that the put completes; 0: none
  };

  // An eager message in parts. The sender keeps parts without room, and refuses further messages to this peer
  // until they have left; the receiver joins the parts. Either side holds at most eager_bytes_most per peer.
  struct Parts {
    std::vector<std::byte> bytes;
    std::size_t offset;  // offset of these bytes in the message
    std::size_t sent = 0;
  };
  struct Assembly {
    Envelope envelope;
    std::vector<std::byte> bytes;
  };

  struct Queued {
    Send send;
    std::vector<std::byte> copy;  // of injected data
  };

  int send_now(const Send& send);
  void send_queued();
  void fail(const Send& send);
  void arrived(Peer source, const Envelope& envelope, bool whole, Bytes payload);
  void take(Receive receive, Peer source, const Envelope& envelope, bool whole, Bytes payload);
  void finish(Done done, bool completes, SharedBuffer* shared);
  void refuse(const Arrival& arrival);
  void clear(Peer peer, std::uint64_t operation, Region region, std::size_t bytes, std::uint64_t landing);
  void complete(std::uint64_t number, int error);
  void died(Peer peer, bool farewell, const std::string& how);
  bool gone(Peer peer) const { return peer < departed_.size() && !departed_[peer].how.empty(); }
  const std::string& blame(Peer peer);
  void fail(const Receive& receive, bool tagged, Peer departed);
  void fail_all(Peer source, Peer departed);
  void await_all();
  template <class Header>
  void answer(Peer peer, active_messages::Handler handler, const Header& header);
  Outcome attempt(const Waiting& waiting);
  template <class Header>
  int start(Operation operation, active_messages::Handler handler, Header header, Bytes payload);
  Outcome transmit(Peer peer, active_messages::Handler handler, Bytes header, Bytes payload);
  std::size_t push(Peer peer, Bytes bytes, std::size_t offset);
  bool fits(Peer peer, std::size_t header, std::size_t bytes) const;

  template <class Header, void (Exchange::*member)(Peer, const Header&, Bytes)>
  active_messages::Handler on();
  void on_eager(Peer source, const Envelope& envelope, Bytes payload);
  void on_first_part(Peer source, const Envelope& envelope, Bytes payload);
  struct Part;
  void on_part(Peer source, const Part& part, Bytes payload);
  void on_announcement(Peer source, const Envelope& envelope, Bytes payload);
  struct Clearance;
  void on_clearance(Peer source, const Clearance& clearance, Bytes payload);
  struct Landed;
  void on_landed(Peer source, const Landed& landed, Bytes payload);
  struct Answer;
  void on_answer(Peer source, const Answer& answer, Bytes payload);
  struct Remote;
  void on_write(Peer source, const Remote& remote, Bytes payload);
  void on_large_write(Peer source, const Remote& remote, Bytes payload);
  void on_read(Peer source, const Remote& remote, Bytes payload);
  struct AtomicRequest;
  void on_atomic(Peer source, const AtomicRequest& request, Bytes payload);
  void on_read_data(Peer source, const Answer& answer, Bytes payload);

  const MemoryTable& memory_;
  Listener& listener_;
  Matching tagged_, plain_;
  std::unordered_map<const void*, Arrival> claimed_;
  Slots<Operation> operations_;
  Slots<Landing> landings_;
  std::deque<Waiting> waiting_;
  const std::size_t eager_bytes_;
  std::unordered_map<Peer, Parts> leaving_;
  std::unordered_map<Peer, Assembly> assembled_;
  std::unordered_map<Peer, std::deque<Queued>> queued_;  // never empty
  std::size_t queued_messages_ = 0;                      // number over all peers
  struct Departed {
    std::string how;    // reason with the peer's name; empty while the peer is present
    bool told = false;  // whether it was printed to standard error
  };
  std::vector<Departed> departed_;  // by peer
  std::optional<Peer> last_departed_;
  Peer awaited_ = 0;  // all peers before this one are awaited
  bool in_handler_ = false;
  int fruitless_polls_ = 0;
  active_messages::Handler eager_, announcement_, clearance_, landed_bytes_, answer_to_operation_, small_write_,
      large_write_, read_request_, read_data_, first_part_, further_part_, atomic_request_;
  active_messages::Endpoint endpoint_;  // last member: destroyed first, and its end runs completions
};

}  // namespace scope::provider
