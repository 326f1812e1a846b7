// The internal interface of the channels to a peer: shared memory within a host, a wire between hosts. The
// endpoint chooses a channel for each peer and does not depend on anything else in it.
//
// Requests and replies. Every message that has arrived in order is delivered; a channel never waits for the reply
// queue, because two peers waiting for each other would wait forever. Instead, the receiver limits requests in
// advance: a peer may send only the number of requests (messages and puts) that it was granted, and is granted
// more only while Sink::open() is true. Replies do not need a grant. So the queued replies to a peer are bounded
// by the largest grant plus the endpoint's limit, whatever the peer does.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "endpoint.hpp"

namespace scope::active_messages {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

enum class Kind : std::uint8_t { request, reply };

struct Message {
  Handler handler;
  Bytes header;
  Bytes payload;
  bool more = false;  // the next message follows at once, so both may be sent together
};

struct Put {
  Region region;
  std::size_t offset;
  Bytes source;
  Message end;  // delivered after the last byte, without payload
  Completion completion;
  void* context;
};

// The events that a channel reports to the endpoint while it is polled.
class Sink {
 public:
  // Runs the handler. The channel may reuse the bytes of the message afterwards.
  virtual void deliver(Peer source, const Message& message) = 0;
  // The address to which a put of this peer writes; nullptr if no exposed region contains all these bytes.
  virtual std::byte* target(Region region, std::size_t offset, std::size_t bytes) = 0;
  // Whether the peer may be granted room for further requests.
  virtual bool open(Peer peer) const = 0;
  // A process that knows the session key sent the first message. Empty: no more peers are accepted.
  virtual std::optional<Peer> admit(const Address& address) = 0;
  // The channel has completed the peer's puts already. `farewell`, `how`: Death.
  virtual void died(Peer peer, bool farewell, std::string how) = 0;

 protected:
  ~Sink() = default;
};

class Channel {
 public:
  virtual ~Channel() = default;

  // For Endpoint::wire().
  virtual std::string name() const = 0;
  // Called once per peer, by the endpoint. From inside admit() it is called before admit() returns.
  virtual void add(Peer peer, const Address& address) = 0;  // Error
  virtual std::size_t message_limit() const = 0;            // header and payload together
  // Endpoint::await(). A channel that always notices deaths does not need to do anything.
  virtual void await(Time /*now*/, Peer /*peer*/) {}

  // The endpoint has checked the lengths and that the peer is alive. Returns `again` without a grant or room.
  virtual Outcome send(Time now, Peer peer, Kind kind, const Message& message) = 0;
  virtual Outcome put(Time now, Peer peer, const Put& put) = 0;
  // Endpoint::share_processor().
  virtual void share_processor(bool /*shared*/) {}

  // Receives, delivers, completes, and sends what is due. Returns the number of deliveries and completions.
  virtual int poll(Time now, Sink& sink) = 0;
  // Whether everything that was sent has arrived; the endpoint waits for this for a short time before it ends.
  virtual bool idle() const = 0;
  // Sends the last message to every live peer. Polling continues until idle() or a timeout.
  virtual void farewell(Time now) = 0;

  // For Endpoint::wait(). Makes descriptor() readable on the next arrival; false: something has already arrived.
  virtual bool arm() { return true; }
  virtual int descriptor() const { return -1; }     // -1: only poll() notices arrivals
  virtual Time due() const { return Time::max(); }  // latest time at which poll() must run

  virtual void add_to(Statistics& statistics) const = 0;
};

}  // namespace scope::active_messages
