// What active messages are held against: ping-pongs and streams over TCP, which polls and does not delay, and over the
// bare wires, without any protocol.
// usage: plain_wires tcp|packet|xdp serve|ask latency|stream BYTES COUNT OWN PEER
//   OWN, PEER: with tcp IP addresses, else Ethernet addresses as 02:00:00:00:00:01 (interface eth0)
// Prints the seconds of each round trip, or of the whole stream.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "wire.hpp"

namespace {

using namespace scope::active_messages;
using Clock = std::chrono::steady_clock;

constexpr std::uint16_t tcp_port = 7717;
constexpr std::size_t stream_piece = 1 << 16;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

int connected(bool serve, const char* own, const char* peer) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(tcp_port);
  ::inet_pton(AF_INET, serve ? own : peer, &address.sin_addr);
  const auto* named = reinterpret_cast<const sockaddr*>(&address);
  const int one = 1;
  int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  if (serve) {
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (::bind(socket, named, sizeof address) != 0 || ::listen(socket, 1) != 0) fail("listen");
    socket = ::accept(socket, nullptr, nullptr);
  } else {
    while (::connect(socket, named, sizeof address) != 0) {
      ::close(socket);
      ::usleep(10'000);
      socket = ::socket(AF_INET, SOCK_STREAM, 0);
    }
  }
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return socket;
}

void receive_all(int socket, std::vector<char>& message, std::size_t bytes) {
  for (std::size_t got = 0; got < bytes;) {
    const ssize_t part = ::recv(socket, message.data() + got, bytes - got, MSG_DONTWAIT);
    if (part > 0)
      got += static_cast<std::size_t>(part);
    else if (part == 0 || errno != EAGAIN)
      fail("recv");
  }
}

void send_all(int socket, const std::vector<char>& message, std::size_t bytes) {
  for (std::size_t put = 0; put < bytes;) {
    const ssize_t part = ::send(socket, message.data() + put, bytes - put, MSG_DONTWAIT);
    if (part > 0)
      put += static_cast<std::size_t>(part);
    else if (errno != EAGAIN)
      fail("send");
  }
}

void tcp(bool serve, bool stream, std::size_t bytes, std::size_t count, const char* own, const char* peer) {
  const int socket = connected(serve, own, peer);
  std::vector<char> message(std::max(bytes, stream_piece));
  const auto begin = Clock::now();
  if (stream) {
    for (std::size_t left = bytes * count; left > 0; left -= std::min(left, stream_piece))
      serve ? receive_all(socket, message, std::min(left, stream_piece))
            : send_all(socket, message, std::min(left, stream_piece));
    serve ? send_all(socket, message, 1) : receive_all(socket, message, 1);
    if (!serve) std::printf("%.9g\n", seconds_since(begin));
    return;
  }
  std::vector<double> seconds(count);
  for (std::size_t round = 0; round < count; ++round) {
    const auto start = Clock::now();
    if (!serve) send_all(socket, message, bytes);
    receive_all(socket, message, bytes);
    if (serve) send_all(socket, message, bytes);
    seconds[round] = seconds_since(start);
  }
  if (!serve)
    for (const double each : seconds) std::printf("%.9g\n", each);
}

Ethernet parsed(const char* text) {
  unsigned part[6];
  if (std::sscanf(text, "%x:%x:%x:%x:%x:%x", part, part + 1, part + 2, part + 3, part + 4, part + 5) != 6)
    fail(text);
  Ethernet address;
  for (int index = 0; index < 6; ++index) address[index] = static_cast<std::byte>(part[index]);
  return address;
}

// A port of its own for each side, then a number of the frame: the loop does not survive loss and need not.
void bare(EthernetWire& wire, bool serve, bool stream, std::size_t bytes, std::size_t count, const Ethernet& own,
          const Ethernet& peer) {
  std::vector<std::byte> head(head_bytes), body(bytes);
  std::memcpy(head.data(), peer.data(), 6);
  std::memcpy(head.data() + 6, own.data(), 6);
  head[12] = std::byte{ethertype >> 8};
  head[13] = std::byte{ethertype & 0xFF};
  const std::uint16_t to = serve ? 2 : 1;
  std::memcpy(head.data() + 14, &to, sizeof to);
  const auto receive = [&] {
    Bytes frame;
    while ((frame = wire.receive()).empty()) {
    }
    std::memcpy(body.data(), frame.data() + head_bytes, bytes);  // as a program would
  };
  const auto send = [&] {
    while (!wire.send(head, body)) wire.flush();
    wire.flush();
  };
  const auto begin = Clock::now();
  if (stream) {
    // An answer after every 64 frames keeps the ring from overflowing.
    for (std::size_t frame = 1; frame <= count; ++frame) {
      serve ? receive() : send();
      if (frame % 64 == 0) serve ? send() : receive();
    }
    if (!serve) std::printf("%.9g\n", seconds_since(begin));
    return;
  }
  std::vector<double> seconds(count);
  for (std::size_t round = 0; round < count; ++round) {
    const auto start = Clock::now();
    if (!serve) send();
    receive();
    if (serve) send();
    seconds[round] = seconds_since(start);
  }
  if (!serve)
    for (const double each : seconds) std::printf("%.9g\n", each);
}

}  // namespace

int main(int words, char** word) {
  if (words != 8) return 2;
  const std::string way = word[1];
  const bool serve = std::string(word[2]) == "serve", stream = std::string(word[3]) == "stream";
  const std::size_t bytes = std::stoul(word[4]), count = std::stoul(word[5]);
  if (way == "tcp") {
    tcp(serve, stream, bytes, count, word[6], word[7]);
    return 0;
  }
  try {
    const Interface interface = interface_named("eth0");
    const std::uint16_t port = serve ? 1 : 2;
    const auto wire = way == "xdp" ? xdp_wire(interface, port) : packet_wire(interface, port);
    std::puts("ready");
    std::fflush(stdout);
    std::getchar();  // both are there
    bare(*wire, serve, stream, bytes, count, parsed(word[6]), parsed(word[7]));
  } catch (const Error& error) {
    std::fprintf(stderr, "plain_wires: %s\n", error.what());
    return 1;
  }
}
