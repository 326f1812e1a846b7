#include "transports/streams.hpp"

#include <netinet/tcp.h>

#include <cerrno>

namespace scope::streams {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t round_bytes = 1 << 20;  // contents of a stream, again and again
constexpr std::size_t chunk_bytes = 1 << 16;
constexpr double longest_wait_s = 20;

tcp_info facts(const Socket& socket) {
  tcp_info info{};
  socklen_t length = sizeof info;
  getsockopt(socket.descriptor(), IPPROTO_TCP, TCP_INFO, &info, &length);
  return info;
}

}  // namespace

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

void give_up(Clock::time_point begin) {
  if (seconds_since(begin) > longest_wait_s)
    throw std::runtime_error(sentence({"nothing arrived for ", longest_wait_s, " s"}));
}

Streams::Streams(const Partner& partner, std::int64_t count)
    : partner_(partner), contents_(round_bytes + chunk_bytes), arrived_(chunk_bytes), streams_(count) {
  for (Stream& stream : streams_) stream.socket = call_by_tcp(partner, 0);
  write_pattern(contents_.bytes().first(round_bytes), 1);
  std::memcpy(contents_.data() + round_bytes, contents_.data(), chunk_bytes);
}

void Streams::use(bool sends, bool receives) {
  sends_ = sends;
  receives_ = receives;
}

bool Streams::move() {
  bool moved = false;
  for (Stream& stream : streams_) {
    if (sends_) moved |= push(stream);
    if (receives_) moved |= pull(stream);
  }
  return moved;
}

void Streams::watch(std::vector<pollfd>& watched) const {
  const int events = (receives_ ? POLLIN : 0) | (sends_ ? POLLOUT : 0);
  for (const Stream& stream : streams_)
    watched.push_back({stream.socket.descriptor(), static_cast<short>(events), 0});
}

void Streams::sleep_until_something_moves() const {
  std::vector<pollfd> watched;
  watch(watched);
  poll(watched.data(), watched.size(), 1);
}

bool Streams::push(Stream& stream) {
  const std::byte* const from = contents_.data() + stream.sent % round_bytes;
  const ssize_t moved = send(stream.socket.descriptor(), from, chunk_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (moved > 0) stream.sent += static_cast<std::uint64_t>(moved);
  if (moved < 0 && !would_block()) fail("send");
  return moved > 0;
}

bool Streams::pull(Stream& stream) {
  const ssize_t moved = recv(stream.socket.descriptor(), arrived_.data(), chunk_bytes, MSG_DONTWAIT);
  if (moved < 0 && !would_block()) fail("recv");
  if (moved <= 0) return false;
  last_bytes_ = static_cast<std::size_t>(moved);
  last_place_ = stream.received % round_bytes;
  compare_last();
  stream.received += static_cast<std::uint64_t>(moved);
  return true;
}

void Streams::count_from_here() {
  for (Stream& stream : streams_) stream.received_before = stream.received;
}

Streams::Counted Streams::counted() const {
  double sum = 0;
  double squares = 0;
  for (const Stream& stream : streams_) {
    const auto bytes = static_cast<double>(stream.received - stream.received_before);
    sum += bytes;
    squares += bytes * bytes;
  }
  return {sum, squares > 0 ? sum * sum / (static_cast<double>(streams_.size()) * squares) : 1};
}

void Streams::drain() {
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

double Streams::retransmissions() const {
  double sum = 0;
  for (const Stream& stream : streams_) sum += facts(stream.socket).tcpi_total_retrans;
  return sum;
}

double Streams::packets() const {
  double sum = 0;
  for (const Stream& stream : streams_)
    sum += static_cast<double>(stream.sent) / std::max(1U, facts(stream.socket).tcpi_snd_mss);
  return sum;
}

void Streams::compare_last() {
  if (std::memcmp(arrived_.data(), contents_.data() + last_place_, last_bytes_) != 0 && problem_.empty())
    problem_ =
        sentence({"a stream differs within ", static_cast<std::int64_t>(last_bytes_), " B that arrived at once"});
}

std::string Streams::take_problem() {
  compare_last();
  return std::exchange(problem_, {});
}

}  // namespace scope::streams
