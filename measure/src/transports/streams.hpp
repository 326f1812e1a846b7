// TCP streams between two hosts, moved by one thread without waiting, as a load on the path; and their throughput.
#pragma once

#include <netinet/tcp.h>
#include <poll.h>

#include <cerrno>
#include <chrono>

#include "transports/partner.hpp"
#include "transports/route.hpp"

namespace scope::streams {

using Clock = std::chrono::steady_clock;
constexpr std::size_t round_bytes = 1 << 20;  // contents of a stream, repeated
constexpr std::size_t chunk_bytes = 1 << 16;
constexpr double longest_wait_s = 20;

inline tcp_info facts(const Socket& socket) {
  tcp_info info{};
  socklen_t length = sizeof info;
  getsockopt(socket.descriptor(), IPPROTO_TCP, TCP_INFO, &info, &length);
  return info;
}

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Whether a call on a socket failed only because there was nothing to do.
inline bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// Throws if the wait since `begin` is too long.
inline void give_up(std::chrono::steady_clock::time_point begin) {
  if (seconds_since(begin) > longest_wait_s)
    throw std::runtime_error(sentence({"nothing arrived for ", longest_wait_s, " s"}));
}

class Streams {
 public:
  // Data that all streams received here since `count_from_here`.
  struct Counted {
    double bytes = 0;
    double fairness = 1;  // Jain, Chiu and Hawe 1984: 1 if all get the same, 1/n if one gets all
  };

  // Connects; collective over the two sides.
  Streams(const Partner& partner, std::int64_t count)
      : partner_(partner), contents_(round_bytes + chunk_bytes), arrived_(chunk_bytes), streams_(count) {
    for (Stream& stream : streams_) stream.socket = call_by_tcp(partner, 0);
    write_pattern(contents_.bytes().first(round_bytes), 1);
    std::memcpy(contents_.data() + round_bytes, contents_.data(), chunk_bytes);
  }

  // From now on this side sends, receives, or both.
  void use(bool sends, bool receives) {
    sends_ = sends;
    receives_ = receives;
  }

  // Moves as much data as possible in every stream without waiting. Returns whether any moved.
  bool move() {
    bool moved = false;
    for (Stream& stream : streams_) {
      if (sends_) moved |= push(stream);
      if (receives_) moved |= pull(stream);
    }
    return moved;
  }
  // Adds the events that `move` needs to the caller's poll list.
  void watch(std::vector<pollfd>& watched) const {
    const int events = (receives_ ? POLLIN : 0) | (sends_ ? POLLOUT : 0);
    for (const Stream& stream : streams_)
      watched.push_back({stream.socket.descriptor(), static_cast<short>(events), 0});
  }
  // Sleeps for at most a millisecond, because polling would take the processor from the kernel's network code and,
  // in a lab, from the other side.
  void sleep_until_something_moves() const {
    std::vector<pollfd> watched;
    watch(watched);
    poll(watched.data(), watched.size(), 1);
  }

  void count_from_here() {
    for (Stream& stream : streams_) stream.received_before = stream.received;
  }
  Counted counted() const {
    double sum = 0;
    double squares = 0;
    for (const Stream& stream : streams_) {
      const auto bytes = static_cast<double>(stream.received - stream.received_before);
      sum += bytes;
      squares += bytes * bytes;
    }
    return {sum, squares > 0 ? sum * sum / (static_cast<double>(streams_.size()) * squares) : 1};
  }

  // Receives the data in flight after both sides have stopped sending.
  void drain() {
    use(false, true);
    for (Stream& stream : streams_) {
      const std::uint64_t theirs = partner_.swap(stream.sent);
      const auto begin = Clock::now();
      while (stream.received < theirs) {
        if (!move()) sleep_until_something_moves();
        give_up(begin);
      }
    }
  }

  // Packets retransmitted since the streams were created.
  double retransmissions() const {
    double sum = 0;
    for (const Stream& stream : streams_) sum += facts(stream.socket).tcpi_total_retrans;
    return sum;
  }
  // Packets sent here since the streams were created, without retransmissions.
  double packets() const {
    double sum = 0;
    for (const Stream& stream : streams_)
      sum += static_cast<double>(stream.sent) / std::max(1U, facts(stream.socket).tcpi_snd_mss);
    return sum;
  }

  // The data that arrived last in any stream.
  std::span<std::byte> last_arrived() { return arrived_.bytes().first(last_bytes_); }

  // The first difference from the sent data since the last call; empty if none. Compares the last data again.
  std::string take_problem() {
    compare_last();
    return std::exchange(problem_, {});
  }

 private:
  struct Stream {
    Socket socket;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t received_before = 0;
  };

  bool push(Stream& stream) {
    const std::byte* const from = contents_.data() + stream.sent % round_bytes;
    const ssize_t moved = send(stream.socket.descriptor(), from, chunk_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (moved > 0) stream.sent += static_cast<std::uint64_t>(moved);
    if (moved < 0 && !would_block()) fail("send");
    return moved > 0;
  }
  bool pull(Stream& stream) {
    const ssize_t moved = recv(stream.socket.descriptor(), arrived_.data(), chunk_bytes, MSG_DONTWAIT);
    if (moved < 0 && !would_block()) fail("recv");
    if (moved <= 0) return false;
    last_bytes_ = static_cast<std::size_t>(moved);
    last_place_ = stream.received % round_bytes;
    compare_last();
    stream.received += static_cast<std::uint64_t>(moved);
    return true;
  }
  void compare_last() {
    if (std::memcmp(arrived_.data(), contents_.data() + last_place_, last_bytes_) != 0 && problem_.empty())
      problem_ = sentence(
          {"a stream differs within ", static_cast<std::int64_t>(last_bytes_), " B that arrived together"});
  }

  const Partner& partner_;
  Buffer contents_;
  Buffer arrived_;
  std::vector<Stream> streams_;
  bool sends_ = false;
  bool receives_ = false;
  std::size_t last_bytes_ = 0;
  std::size_t last_place_ = 0;  // position in the contents
  std::string problem_;
};

}  // namespace scope::streams
