// Streams of TCP between two hosts, moved by one thread without waiting: a load on the path, and what it delivers.
#pragma once

#include <poll.h>

#include <chrono>

#include "transports/partner.hpp"
#include "transports/route.hpp"

namespace scope::streams {

double seconds_since(std::chrono::steady_clock::time_point start);

// Whether a call on a socket only had nothing to do.
bool would_block();

// Throws when something has been awaited for too long since `begin`.
void give_up(std::chrono::steady_clock::time_point begin);

class Streams {
 public:
  // What all streams received here since `count_from_here`.
  struct Counted {
    double bytes = 0;
    double fairness = 1;  // Jain, Chiu and Hawe 1984: 1 where all get the same, 1/n where one gets all
  };

  // Connects; collective over the two sides.
  Streams(const Partner& partner, std::int64_t count);

  // From now on this side sends, takes what arrives, or both.
  void use(bool sends, bool receives);

  // Every stream moves what it can without waiting. Returns whether one did.
  bool move();
  // Adds what `move` waits for to what a caller polls.
  void watch(std::vector<pollfd>& watched) const;
  // Sleeps for at most a millisecond: polling would take the processor from the kernel's part of the network, and
  // from the other side in a lab.
  void sleep_until_something_moves() const;

  void count_from_here();
  Counted counted() const;

  // Takes what is still under way, when both sides have ended to send.
  void drain();

  double retransmissions() const;  // packets, since the streams exist
  double packets() const;          // sent here since they exist, without what was repeated

  // What arrived last, of any stream.
  std::span<std::byte> last_arrived() { return arrived_.bytes().first(last_bytes_); }

  // What differed from what was sent, since the last call; empty when nothing did. What arrived last is compared again.
  std::string take_problem();

 private:
  struct Stream {
    Socket socket;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t received_before = 0;
  };

  bool push(Stream& stream);
  bool pull(Stream& stream);
  void compare_last();

  const Partner& partner_;
  Buffer contents_;
  Buffer arrived_;
  std::vector<Stream> streams_;
  bool sends_ = false;
  bool receives_ = false;
  std::size_t last_bytes_ = 0;
  std::size_t last_place_ = 0;  // in the contents
  std::string problem_;
};

}  // namespace scope::streams
