// network.tcp: the ping-pong of the transport under MPI, through plain TCP sockets.
//
// Timed: a message from the client (rank 0) to the server (rank 1) and its echo, on the client's clock; half
// of it is the latency. MPI only places the two processes and tells the client where the server listens; no
// MPI call is in the timed path. A naive reader would forget TCP_NODELAY, or compare a transport that sleeps
// in the kernel with a library that polls: both are parameters. After thesis 6.5.2.
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "benchmark.hpp"
#include "memory/buffer.hpp"

namespace scope {
namespace {

constexpr int connect_limit_ms = 2000;
constexpr int most_addresses = 16;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  int descriptor() const { return descriptor_; }
  bool open() const { return descriptor_ >= 0; }

  void set(int level, int option, int value) const {
    if (setsockopt(descriptor_, level, option, &value, sizeof value) != 0) fail("setsockopt");
  }
  void set_blocking(bool blocking) const {
    const int flags = fcntl(descriptor_, F_GETFL);
    fcntl(descriptor_, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
  }

 private:
  int descriptor_;
};

// IPv4 addresses (network byte order) of this host's interfaces that are up: real ones first, loopback last.
struct Addresses {
  int count = 0;
  std::array<in_addr_t, most_addresses> list{};

  void add(in_addr_t address) {
    if (count < most_addresses) list[count++] = address;
  }
};

Addresses own_addresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) fail("getifaddrs");
  Addresses addresses;
  Addresses loopback;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    const in_addr_t address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr.s_addr;
    (ntohl(address) >> 24 == 127 ? loopback : addresses).add(address);
  }
  freeifaddrs(first);
  for (int i = 0; i < loopback.count; ++i) addresses.add(loopback.list[i]);
  return addresses;
}

// Addresses in the order in which a client should try them: the loopback to a server on its own host, else
// the same interface order as the server's, without the loopback.
Addresses addresses_to_try(const Addresses& servers, bool same_host) {
  Addresses ordered;
  for (int i = 0; i < servers.count; ++i) {
    const bool loopback = ntohl(servers.list[i]) >> 24 == 127;
    if (loopback == same_host) ordered.add(servers.list[i]);
  }
  if (same_host) {
    for (int i = 0; i < servers.count; ++i) ordered.add(servers.list[i]);
  }
  return ordered;
}

Socket listen_anywhere(in_port_t& port) {
  Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener.open()) fail("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  if (bind(listener.descriptor(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("bind");
  if (listen(listener.descriptor(), 1) != 0) fail("listen");
  socklen_t length = sizeof address;
  if (getsockname(listener.descriptor(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    fail("getsockname");
  port = address.sin_port;
  return listener;
}

// Not open when the address does not answer in time.
Socket connect_to(in_addr_t host, in_port_t port) {
  Socket connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!connection.open()) fail("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = host;
  address.sin_port = port;
  if (connect(connection.descriptor(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    if (errno != EINPROGRESS) return Socket();
    pollfd wait{connection.descriptor(), POLLOUT, 0};
    int problem = 0;
    socklen_t length = sizeof problem;
    if (poll(&wait, 1, connect_limit_ms) != 1 ||
        getsockopt(connection.descriptor(), SOL_SOCKET, SO_ERROR, &problem, &length) != 0 || problem != 0) {
      return Socket();
    }
  }
  return connection;
}

Socket accept_one(const Socket& listener) {
  pollfd wait{listener.descriptor(), POLLIN, 0};
  if (poll(&wait, 1, connect_limit_ms * most_addresses) != 1) return Socket();
  return Socket(accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
}

struct Meeting {
  in_port_t port;
  std::array<char, 256> host;
  Addresses addresses;
};

Socket serve(const Communicator& communicator, int client) {
  Meeting meeting{};
  const Socket listener = listen_anywhere(meeting.port);
  std::strncpy(meeting.host.data(), host_name().c_str(), meeting.host.size() - 1);
  meeting.addresses = own_addresses();
  MPI_Send(&meeting, sizeof meeting, MPI_BYTE, client, 0, communicator.handle());
  return accept_one(listener);
}

Socket call(const Communicator& communicator, int server) {
  Meeting meeting{};
  MPI_Recv(&meeting, sizeof meeting, MPI_BYTE, server, 0, communicator.handle(), MPI_STATUS_IGNORE);
  const auto addresses = addresses_to_try(meeting.addresses, host_name() == meeting.host.data());
  for (int i = 0; i < addresses.count; ++i) {
    Socket connection = connect_to(addresses.list[i], meeting.port);
    if (connection.open()) return connection;
  }
  return Socket();
}

class TcpPingPong final : public Benchmark {
 public:
  TcpPingPong(const Parameters& parameters, const Communicator& communicator)
      : client_(communicator.root()),
        polling_(parameters.choice("wait") == "polling"),
        message_(parameters.integer("message_bytes")),
        connection_(client_ ? call(communicator, 1) : serve(communicator, 0)) {
    if (!connection_.open()) throw Unavailable("no address of the server's host can be reached by TCP");
    connection_.set(IPPROTO_TCP, TCP_NODELAY, parameters.choice("nodelay") == "on" ? 1 : 0);
    connection_.set_blocking(!polling_);
    message_.clear();
  }

  Work work() const override { return {.bytes = static_cast<double>(message_.size()), .messages = 1}; }

  void fill(std::uint64_t seed) override {
    client_ ? write_pattern(message_.bytes(), seed) : message_.clear();
  }

  void run(Repetition& repetition) override {
    if (client_) {
      repetition.time([&] {
        send_message();
        receive_message();
      });
    } else {
      repetition.time([&] {
        receive_message();
        send_message();
      });
    }
  }

  // The echo is sent from where the message arrived: one wrong byte anywhere stays wrong to the end.
  Check verify(std::uint64_t seed) override {
    return {static_cast<std::int64_t>(message_.size()), pattern_problem(message_.bytes(), seed)};
  }

  std::span<std::byte> received() override { return message_.bytes(); }

 private:
  void send_message() {
    std::size_t done = 0;
    while (done < message_.size()) {
      const ssize_t count =
          send(connection_.descriptor(), message_.data() + done, message_.size() - done, MSG_NOSIGNAL);
      advance(done, count, "send");
    }
  }

  void receive_message() {
    std::size_t done = 0;
    while (done < message_.size()) {
      const ssize_t count = recv(connection_.descriptor(), message_.data() + done, message_.size() - done, 0);
      if (count == 0) throw std::runtime_error("the other process closed the connection");
      advance(done, count, "receive");
    }
  }

  static void advance(std::size_t& done, ssize_t count, const char* what) {
    if (count >= 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno != EAGAIN && errno != EINTR) {
      fail(what);
    }
  }

  bool client_;
  bool polling_;
  Buffer message_;
  Socket connection_;
};

const Registration registration{{
    .name = "network.tcp",
    .summary = "ping-pong over a TCP socket: the transport without the message-passing library",
    .minimum_ranks = 2,
    .maximum_ranks = 2,
    .parameters = {integer("message_bytes", "B", 1, 1, 1 << 30, "payload of each message"),
                   choice("nodelay", {"on", "off"}, "TCP_NODELAY: send small messages at once"),
                   choice("wait", {"polling", "blocking"},
                          "spin on the socket as MPI libraries do, or sleep in the kernel")},
    .definition = Definition::half_round_trip,
    .metrics = {seconds("latency_s"), bytes_per_second()},
    .sweeps = {{"baseline",
                "ranks=2 nodelay=on wait=polling message_bytes=1,64,1Ki,4Ki,16Ki,64Ki,256Ki,1Mi,4Mi"},
               {"baseline", "ranks=2 nodelay=off wait=polling message_bytes=1,64Ki"},
               {"baseline", "ranks=2 nodelay=on wait=blocking message_bytes=1,64Ki"}},
    .make = [](const Parameters& parameters, const Communicator& communicator) -> std::unique_ptr<Benchmark> {
      return std::make_unique<TcpPingPong>(parameters, communicator);
    },
}};

}  // namespace
}  // namespace scope
