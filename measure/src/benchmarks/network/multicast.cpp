// network.multicast: a broadcast by IP multicast, in which the network copies each datagram of the root.
//
// Timed: from the agreed start until every rank has the message and the root has every rank's acknowledgement. The
// message is sent in windows of datagrams that fit into every receiver's buffer. A rank that misses datagrams when
// the last one of a window arrives requests them, and the root sends them to all again; after a silence the root
// repeats the last one, which prompts answers. All waits are bounded. After thesis, section 6.5.4: collectives
// that use the network's own broadcast.
#include <arpa/inet.h>
#include <poll.h>

#include <bitset>
#include <chrono>

#include "benchmarks/network/transport_parameters.hpp"
#include "transports/route.hpp"

namespace scope::multicast {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_packets = 512;  // in a window
constexpr auto probe_after = std::chrono::milliseconds(20);
constexpr auto root_patience = std::chrono::seconds(5);
constexpr auto rank_patience = std::chrono::seconds(20);  // the root gives up first, as it knows who is missing
constexpr auto first_patience = std::chrono::seconds(1);
constexpr int ip_and_udp_bytes = 20 + 8;
constexpr int largest_packet = 65535;
constexpr double bookkeeping_bytes = 2048;  // of the kernel, for each queued datagram
constexpr double usable_share = 0.8;

struct Header {
  std::uint32_t channel;
  std::uint32_t window;  // number, counted over all operations
  std::uint16_t index;
  std::uint16_t packets;  // number in the window
};
using Missing = std::bitset<most_packets>;
struct Answer {
  std::uint32_t channel;
  std::uint32_t window;
  std::int32_t rank;
  Missing missing;  // none: the rank has the whole window
};

class Multicast final : public Benchmark {
 public:
  Multicast(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator), bytes_(parameters.integer("message_bytes")), message_(bytes_) {
    const auto hosts = communicator.all_gather(host_name());
    const bool nearby = std::equal(hosts.begin() + 1, hosts.end(), hosts.begin());
    int packet = largest_packet;
    agreed([&] {
      own_ = own_address(nearby);
      if (communicator.root()) open_root();
    });
    MPI_Bcast(&root_, sizeof root_, MPI_BYTE, 0, communicator.handle());
    group_ = root_;
    group_.sin_addr.s_addr = htonl(0xEFFF0000U | ntohs(root_.sin_port));  // 239.255.x.y: site-local
    agreed([&] {
      if (!communicator.root()) packet = join();
    });
    payload_ = communicator.smallest(packet) - ip_and_udp_bytes - static_cast<int>(sizeof(Header));
    const double room = 2 * usable_share * communicator.smallest(socket_.buffer_bytes());
    window_packets_ = std::clamp<std::int64_t>(static_cast<std::int64_t>(room / (payload_ + bookkeeping_bytes)), 1,
                                               most_packets);
    agreed([&] { pass(message_.slot(0).first(1), first_patience); });
    settle();
    socket_.lose(static_cast<int>(parameters.integer("lost_per_million")));
    repeated_ = 0;
  }

  Work work() const override {
    const double ranks = communicator_.size();
    return {.bytes = ranks * static_cast<double>(bytes_), .messages = ranks - 1};
  }

  void fill(std::uint64_t seed) override {
    message_.clear();
    if (communicator_.root()) message_.write_pattern(seed);
  }

  void run(Repetition& repetition) override {
    const double repeated = repeated_;
    communicator_.root() ? message_.use_in_turn(repetition.calls()) : message_.use(repetition.calls());
    repetition.time([&](std::int64_t number) {
      pass(message_.slot(communicator_.root() ? 0 : number), communicator_.root() ? root_patience : rank_patience);
    });
    settle();
    repetition.observe("retransmitted_packets", repeated_ - repeated);
  }

  Check verify(std::uint64_t seed) override {
    if (communicator_.root()) return {};
    return {message_.count() * bytes_, message_.pattern_problem(seed)};
  }

  std::span<std::byte> received() override {
    return communicator_.root() ? std::span<std::byte>() : message_.bytes();
  }
  std::int64_t most_operations() const override { return message_.most(); }

 private:
  // Does a step on every rank; if it fails on any rank, throws Unavailable on all. Collective.
  template <class Step>
  void agreed(Step&& step) {
    std::string problem;
    try {
      step();
    } catch (const std::exception& error) {
      problem = sentence({"rank ", communicator_.rank(), ": ", error.what()});
    }
    for (const std::string& each : communicator_.all_gather(problem))
      if (!each.empty()) throw Unavailable(each);
  }

  void open_root() {
    socket_ = open_socket(AF_INET, SOCK_DGRAM);
    root_ = bound(own_, 0);
    const in_addr interface{own_};
    if (setsockopt(socket_.descriptor(), IPPROTO_IP, IP_MULTICAST_IF, &interface, sizeof interface) != 0)
      fail("IP_MULTICAST_IF");
  }

  // Joins the multicast group; returns the size of the largest packet on the path to the root.
  int join() {
    socket_ = open_socket(AF_INET, SOCK_DGRAM);
    socket_.set(SOL_SOCKET, SO_REUSEADDR, 1);  // ranks of a host share the port
    bound(group_.sin_addr.s_addr, group_.sin_port);
    const ip_mreq membership{group_.sin_addr, {own_}};
    if (setsockopt(socket_.descriptor(), IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership) != 0)
      fail("IP_ADD_MEMBERSHIP");
    const Socket way = open_socket(AF_INET, SOCK_DGRAM);
    if (connect(way.descriptor(), reinterpret_cast<const sockaddr*>(&root_), sizeof root_) != 0) fail("connect");
    return std::min(way.get(IPPROTO_IP, IP_MTU), largest_packet);
  }

  sockaddr_in bound(in_addr_t address, in_port_t port) const {
    sockaddr_in place{.sin_family = AF_INET, .sin_port = port, .sin_addr = {address}, .sin_zero = {}};
    socklen_t length = sizeof place;
    if (bind(socket_.descriptor(), reinterpret_cast<const sockaddr*>(&place), length) != 0) fail("bind");
    if (getsockname(socket_.descriptor(), reinterpret_cast<sockaddr*>(&place), &length) != 0) fail("getsockname");
    return place;
  }

  // The root sends the message to all; the other ranks receive it.
  void pass(std::span<std::byte> message, Clock::duration patience) {
    const std::size_t whole = static_cast<std::size_t>(window_packets_ * payload_);
    for (std::size_t done = 0; done < message.size(); done += whole, ++window_) {
      const auto part = message.subspan(done, std::min(whole, message.size() - done));
      communicator_.root() ? send_window(part, patience) : receive_window(part, patience);
    }
  }

  void send_window(std::span<std::byte> part, Clock::duration patience) {
    const auto packets = static_cast<std::uint16_t>((part.size() + payload_ - 1) / payload_);
    for (std::uint16_t index = 0; index < packets; ++index) send_packet(part, index, packets);
    std::vector<bool> has(communicator_.size());
    has[0] = true;
    int waiting = communicator_.size() - 1;
    auto progress = Clock::now();
    for (auto heard = progress; waiting > 0;) {
      Answer answer;
      if (receive(&answer, sizeof answer) == sizeof answer && answer.channel == root_.sin_port &&
          answer.window == window_ && !has.at(answer.rank)) {
        heard = Clock::now();
        if (answer.missing.none()) {
          has[answer.rank] = true;
          --waiting;
          progress = heard;
        }
        for (std::uint16_t index = 0; index < packets; ++index)
          if (answer.missing[index]) send_packet(part, index, packets), ++repeated_;
      }
      const auto now = Clock::now();
      if (now - heard > probe_after) {
        send_packet(part, static_cast<std::uint16_t>(packets - 1), packets);
        ++repeated_;
        heard = now;
      }
      if (now - progress <= patience) continue;
      std::string ranks;
      for (std::size_t rank = 1; rank < has.size(); ++rank)
        if (!has[rank]) ranks += " " + std::to_string(rank);
      throw std::runtime_error("multicast: no acknowledgement from rank" + ranks);
    }
  }

  void receive_window(std::span<std::byte> part, Clock::duration patience) {
    Missing missing;
    for (std::size_t packet = 0; packet * payload_ < part.size(); ++packet) missing.set(packet);
    for (auto heard = Clock::now(); missing.any();) {
      if (Clock::now() - heard > patience)
        throw std::runtime_error("no multicast datagram arrives: the network or a filter blocks them");
      Header header;
      const std::size_t bytes = receive_packet(header);
      if (bytes == 0 || header.window != window_) continue;
      heard = Clock::now();
      const std::size_t begin = static_cast<std::size_t>(header.index) * payload_;
      if (begin + bytes > part.size()) continue;
      std::memcpy(part.data() + begin, packet_.data() + sizeof header, bytes);
      missing.reset(header.index);
      if (missing.none() || header.index + 1 == header.packets) answer(window_, missing);
    }
  }

  // Receives a packet. If it repeats a window that this rank already has, acknowledges that window again, because
  // the first answer was lost. Returns the size of the payload.
  std::size_t receive_packet(Header& header) {
    const ssize_t count = receive(packet_.data(), packet_.size());
    if (count <= static_cast<ssize_t>(sizeof header)) return 0;
    std::memcpy(&header, packet_.data(), sizeof header);
    if (header.channel != root_.sin_port) return 0;
    if (header.window < window_ && header.index + 1 == header.packets) answer(header.window, {});
    return static_cast<std::size_t>(count) - sizeof header;
  }

  // Answers the root until it, too, is done. Untimed. Collective.
  void settle() {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(communicator_.handle(), &request);
    for (int done = 0; done == 0;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      Header header;
      if (done == 0 && !communicator_.root()) receive_packet(header);
    }
  }

  void send_packet(std::span<std::byte> part, std::uint16_t index, std::uint16_t packets) {
    Header header{root_.sin_port, window_, index, packets};
    const auto piece = part.subspan(static_cast<std::size_t>(index) * payload_);
    std::array<iovec, 2> parts = {iovec{&header, sizeof header},
                                  iovec{piece.data(), std::min<std::size_t>(piece.size(), payload_)}};
    msghdr message{&group_, sizeof group_, parts.data(), parts.size(), nullptr, 0, 0};
    if (sendmsg(socket_.descriptor(), &message, 0) < 0 && errno != ENOBUFS) fail("sendmsg");
  }
  void answer(std::uint32_t window, const Missing& missing) const {
    const Answer told{root_.sin_port, window, communicator_.rank(), missing};
    sendto(socket_.descriptor(), &told, sizeof told, 0, reinterpret_cast<const sockaddr*>(&root_), sizeof root_);
  }
  // Sleeps for at most a millisecond; returns -1 if nothing arrived.
  ssize_t receive(void* place, std::size_t bytes) const {
    pollfd ready{socket_.descriptor(), POLLIN, 0};
    if (poll(&ready, 1, 1) != 1) return -1;
    return recv(socket_.descriptor(), place, bytes, MSG_DONTWAIT);
  }

  const Communicator& communicator_;
  std::int64_t bytes_;
  MessageSlots message_;
  Socket socket_;
  in_addr_t own_ = 0;
  sockaddr_in root_{};   // destination of the answers
  sockaddr_in group_{};  // with the root's port
  int payload_ = 0;
  std::int64_t window_packets_ = 1;
  std::uint32_t window_ = 0;
  double repeated_ = 0;
  std::array<std::byte, largest_packet> packet_{};
};

const Registration registration{{
    .name = "network.multicast",
    .title = "broadcast by multicast",
    .summary = "broadcast of a message to all ranks as UDP/IP multicast, with lost datagrams repaired",
    .family = "broadcast",
    .ranks = Ranks::at_least(2),
    .parameters = {size("message_bytes", "B", 1024, 1, 1 << 30, "size of the message that every rank receives"),
                   path("lost_per_million", "", 0, 0, 1'000'000,
                        "packets per million that the kernel drops on arrival, like a bad link")
                       .labeled("lost packets per million")},
    .definition = Definition::global,
    .metrics = {seconds("time_s"), moved_bytes_per_second(), effective_bandwidth(), retransmitted_packets()},
    .sweeps = {{"standard", "ranks=every message_bytes=1,1Ki,16Ki,64Ki,1Mi"},
               {"advanced", "ranks=every message_bytes=1Ki,1Mi lost_per_million=0,10000"}},
    .make = make<Multicast>,
}};

}  // namespace
}  // namespace scope::multicast
