// Inbox for messages from processes of the same host to an endpoint: a memory file with one ring for each sender.
// It does not have a name in any directory. Its owner keeps it open; senders reach it through /proc/PID/fd, which
// the kernel opens only to this user, and it disappears with its last process, however that ends.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "descriptor.hpp"
#include "endpoint.hpp"
#include "ring.hpp"

namespace scope::active_messages {

inline constexpr std::uint32_t senders_limit = 1024;
inline constexpr std::uint64_t window = 256;  // requests that a sender may send before the owner grants more

enum class Reading : std::uint32_t { unknown, allowed, denied };

// The state that a sender and the owner share in addition to the ring.
struct Sender {
  // Written by the sender; complete once `ready` is set.
  alignas(64) std::atomic<std::uint32_t> ready;
  std::atomic<std::uint32_t> gone;  // its last message is in the ring
  Address address;
  std::uint64_t probe_address;  // address in the sender's memory at which the owner tries to read `probe_value`
  std::uint64_t probe_value;
  // Written by the owner.
  alignas(64) std::atomic<std::uint64_t> granted;  // total number of requests that the sender may send
  std::atomic<Reading> reading;                    // whether the kernel lets the owner read the sender's memory
};

struct Inbox {
  std::uint32_t layout;
  std::int32_t doorbell;  // the owner's descriptor of a pipe: one byte wakes the owner
  std::array<std::byte, 16> session_key;
  Address owner;
  std::atomic<std::uint32_t> closed;
  alignas(64) std::atomic<std::uint32_t> asleep;
  alignas(64) std::atomic<std::uint32_t> senders;  // may exceed the limit by the number of refused senders
  Sender sender[senders_limit];
};

// The process number within `Address::process`.
pid_t process_number(const Address& address);

// This endpoint's own inbox.
class OwnInbox {
 public:
  OwnInbox(const Address& self, const std::array<std::byte, 16>& session_key);  // Error
  Inbox& head() const { return *reinterpret_cast<Inbox*>(whole_.data()); }
  Ring& ring(std::uint32_t sender) const;
  int bell() const { return bell_.get(); }  // readable after a sender has rung
  void silence();                           // reads all bytes from the pipe

 private:
  Descriptor file_, bell_, bell_of_senders_;
  Mapping whole_;
};

// A peer's inbox as used by one of its senders.
class PeerInbox {
 public:
  // Throws Gone if the process or its endpoint has ended, Error if the kernel refuses or the session key differs.
  struct Gone {};
  PeerInbox(const Address& self, const Address& peer, const std::array<std::byte, 16>& session_key);

  Sender& sender() const { return *sender_; }
  Ring& ring() const { return *reinterpret_cast<Ring*>(ring_.data()); }
  // Wakes the owner if it sleeps. Called after something was written.
  void ring_bell();
  // False once the process has ended or closed its endpoint.
  bool alive() const;
  bool closed() const;  // whether its owner has closed it in order

 private:
  Inbox& head() const { return *reinterpret_cast<Inbox*>(head_.data()); }

  Descriptor process_, bell_;
  Mapping head_, ring_;
  Sender* sender_ = nullptr;
};

}  // namespace scope::active_messages
