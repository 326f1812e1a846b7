// The link between two hosts over one TCP connection: one way times, and rates in each direction alone and at once.
// One host listens on a port that the kernel chooses; the other knows a token, so that nobody else is measured.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <stdexcept>

#include "checks.hpp"
#include "host.hpp"

namespace scope::health {

constexpr std::size_t smallest_frame = std::size_t{8} << 10, largest_frame = std::size_t{128} << 10;
constexpr double frames = 8;  // in the time of one transfer
constexpr std::size_t message_bytes = 64;
constexpr std::size_t half_token = 32;
constexpr int patience_ms = 4000;
constexpr std::size_t most_bytes = std::size_t{256} << 20;  // of one transfer

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] inline void fail(const std::string& what) {
  throw Failure(what + (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
}

// An open socket; its waits end after `patience_ms`.
class Socket {
 public:
  explicit Socket(int handle) : handle_(handle) {
    const timeval patience{patience_ms / 1000, 0};
    setsockopt(handle_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(handle_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const int on = 1;
    setsockopt(handle_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { close(handle_); }

  void send(const void* data, std::size_t bytes) const {
    for (const char* at = static_cast<const char*>(data); bytes > 0;) {
      const ssize_t sent = ::send(handle_, at, bytes, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;  // the host was stopped and goes on
      if (sent <= 0) fail("the connection broke");
      at += sent;
      bytes -= static_cast<std::size_t>(sent);
    }
  }

  // What waits in this host would be sent long after the time of a transfer on a slow link.
  void limit_unsent(std::size_t bytes) const {
    const int unsent = static_cast<int>(bytes);
    setsockopt(handle_, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
  }

  void receive(void* data, std::size_t bytes) const {
    for (char* at = static_cast<char*>(data); bytes > 0;) {
      errno = 0;
      const ssize_t came = recv(handle_, at, bytes, 0);
      if (came < 0 && errno == EINTR) continue;
      if (came <= 0) fail("the connection broke");
      at += came;
      bytes -= static_cast<std::size_t>(came);
    }
  }

 private:
  int handle_;
};

// Frames: whether another one follows, and its content.
class Transfer {
 public:
  explicit Transfer(const Socket& socket) : socket_(socket) { use(smallest_frame); }

  // Both ends use the same size.
  void use(std::size_t frame_bytes) {
    pattern_.resize(1 + frame_bytes);
    came_.resize(1 + frame_bytes);
    std::mt19937_64 random(1);
    for (auto& byte : pattern_) byte = static_cast<char>(random());
    pattern_[0] = 1;
    socket_.limit_unsent(2 * frame_bytes);
  }
  std::size_t frame_bytes() const { return pattern_.size() - 1; }

  void send_for(double seconds) const {
    const double end = now_s() + seconds;
    for (std::size_t sent = 0; sent < most_bytes && now_s() < end; sent += pattern_.size())
      socket_.send(pattern_.data(), pattern_.size());
    socket_.send("", 1);
  }

  // Bytes per second from the first frame to the last.
  double receive_all() {
    double begun = 0, ended = 0;
    std::size_t frames = 0;
    for (;; ++frames) {
      socket_.receive(came_.data(), 1);
      if (came_[0] == 0) break;
      if (frames == 0) begun = now_s();
      socket_.receive(came_.data() + 1, frame_bytes());
      ended = now_s();
      if (came_ != pattern_) fail("the data that arrived differ from the data that were sent");
    }
    return frames == 0 ? 0 : static_cast<double>(frames * pattern_.size()) / std::max(ended - begun, 1e-9);
  }

  double both_ways(double seconds) {
    std::atomic<bool> broke = false;
    double rate = 0;
    {
      const std::jthread sending([&] {
        try {
          send_for(seconds);
        } catch (const Failure&) {
          broke = true;
        }
      });
      rate = receive_all();
    }
    if (broke) throw Failure("the connection broke");
    return rate;
  }

 private:
  const Socket& socket_;
  std::vector<char> pattern_, came_;
};

struct Link {
  std::vector<double> latency_s, forward, backward, forward_at_once, backward_at_once;
};

// What the host does that connects; the other answers. Each repetition takes a part of the time.
inline Link measure_link(const Socket& socket, double seconds, int repetitions) {
  Link link;
  Transfer transfer(socket);
  char message[message_bytes] = {'e'};
  const double part = seconds / repetitions / 4;
  const auto ask = [&](char what, double value) {
    const std::size_t frame = transfer.frame_bytes();
    socket.send(&what, 1);
    socket.send(&value, sizeof value);
    socket.send(&frame, sizeof frame);
  };
  const auto answer = [&] {
    double value = 0;
    socket.receive(&value, sizeof value);
    return value;
  };
  // On a slow link, a frame that suits a fast one would take many times as long as a transfer should.
  ask('u', part);
  transfer.send_for(part);
  const double wanted = answer() * part / frames;
  transfer.use(static_cast<std::size_t>(std::clamp<double>(wanted, smallest_frame, largest_frame)));
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    std::vector<double> times;
    for (const double end = now_s() + part; times.size() < 3 || now_s() < end;) {
      const double begun = now_s();
      socket.send(message, sizeof message);
      socket.receive(message, sizeof message);
      times.push_back((now_s() - begun) / 2);
    }
    link.latency_s.push_back(median(times));
    ask('u', part);
    transfer.send_for(part);
    link.forward.push_back(answer());
    ask('d', part);
    link.backward.push_back(transfer.receive_all());
    ask('b', part);
    link.backward_at_once.push_back(transfer.both_ways(part));
    link.forward_at_once.push_back(answer());
  }
  ask('q', 0);
  answer();
  return link;
}

inline void answer_link(const Socket& socket) {
  Transfer transfer(socket);
  char message[message_bytes];
  for (;;) {
    socket.receive(message, 1);
    if (message[0] == 'e') {
      socket.receive(message + 1, sizeof message - 1);
      socket.send(message, sizeof message);
      continue;
    }
    double value = 0;
    std::size_t frame = 0;
    socket.receive(&value, sizeof value);
    socket.receive(&frame, sizeof frame);
    if (!(value >= 0 && value <= 10 && frame >= smallest_frame && frame <= largest_frame))
      fail("a request that nobody makes");
    if (frame != transfer.frame_bytes()) transfer.use(frame);
    if (message[0] == 'u') value = transfer.receive_all();
    if (message[0] == 'd') transfer.send_for(value);
    if (message[0] == 'b') value = transfer.both_ways(value);
    if (message[0] != 'd') socket.send(&value, sizeof value);
    if (message[0] == 'q') return;
  }
}

// The addresses of this host that others can reach, those of the fastest interface first; of one interface where it is
// named. getifaddrs(3).
inline std::vector<std::string> addresses(const std::string& interface) {
  std::multimap<std::pair<long, std::string>, std::string> found;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {};
  for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
    const std::string name = entry->ifa_name;
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_RUNNING) == 0 || !of_the_host(name)) continue;
    if (!interface.empty() && name != interface) continue;
    char text[INET6_ADDRSTRLEN] = "";
    if (entry->ifa_addr->sa_family == AF_INET)
      inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr, text, sizeof text);
    const auto* six = reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr);
    if (entry->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr))
      inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof text);
    Facts known;
    ask_interface(name, known);
    if (*text != 0)
      found.emplace(std::pair{-std::atol(known["interface " + name + " speed"].c_str()), name}, text);
  }
  freeifaddrs(all);
  std::vector<std::string> ordered;
  for (const auto& [order, text] : found) ordered.push_back(text);
  return ordered;
}

// A socket that listens on a free port of this host, and the port.
inline std::pair<int, int> listening() {
  for (const int family : {AF_INET6, AF_INET}) {
    const int handle = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (handle < 0) continue;
    const int off = 0;
    sockaddr_storage place{};
    place.ss_family = static_cast<sa_family_t>(family);
    socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    if (family == AF_INET6) setsockopt(handle, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(handle, reinterpret_cast<sockaddr*>(&place), size) == 0 && listen(handle, 8) == 0 &&
        getsockname(handle, reinterpret_cast<sockaddr*>(&place), &size) == 0)
      return {handle, ntohs(reinterpret_cast<sockaddr_in*>(&place)->sin_port)};  // at one place in both families
    close(handle);
  }
  fail("cannot listen");
}

// Connects to the first of these addresses that answers.
inline int connected(const std::vector<std::string>& addresses, int port) {
  for (const auto& address : addresses) {
    sockaddr_storage place{};
    auto* four = reinterpret_cast<sockaddr_in*>(&place);
    auto* six = reinterpret_cast<sockaddr_in6*>(&place);
    const bool is_six = address.find(':') != std::string::npos;
    place.ss_family = is_six ? AF_INET6 : AF_INET;
    four->sin_port = htons(static_cast<std::uint16_t>(port));
    void* const target = is_six ? static_cast<void*>(&six->sin6_addr) : static_cast<void*>(&four->sin_addr);
    if (inet_pton(place.ss_family, address.c_str(), target) != 1) continue;
    const int handle = socket(place.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    connect(handle, reinterpret_cast<sockaddr*>(&place), is_six ? sizeof *six : sizeof *four);
    pollfd waiting{handle, POLLOUT, 0};
    int problem = ETIMEDOUT;
    socklen_t size = sizeof problem;
    if (poll(&waiting, 1, patience_ms / 2) == 1) getsockopt(handle, SOL_SOCKET, SO_ERROR, &problem, &size);
    if (problem == 0) {
      fcntl(handle, F_SETFL, 0);
      return handle;
    }
    close(handle);
    errno = problem;
  }
  fail("no connection");
}

}  // namespace scope::health
