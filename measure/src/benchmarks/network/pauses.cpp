// network.pauses: how long a path stalls while only low-rate probe packets use it.
//
// Datagrams are sent at a set spacing, first by the first host, then by the second. Each contains the time of its
// departure and the duration of the previous send call, and the receiver's kernel records its arrival, so that waits for
// a CPU on either side do not count. Clocks need not agree, as only the growth of the delay between packets is used. A
// link that flow control pauses (IEEE 802.3x, 802.1Qbb) holds packets back and releases them together: the delay jumps
// by the length of the stop. Times are not results here: the timed part is the first train, which has a set duration.
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <cerrno>
#include <chrono>
#include <stdexcept>

#include "transports/streams.hpp"

namespace scope::pauses {
namespace {

using Clock = std::chrono::steady_clock;
using streams::seconds_since;
using streams::would_block;

constexpr double least_stop_s = 1e-3;     // smallest jump of the delay that counts as a stop
constexpr double sender_waited_s = 2e-4;  // packets with less certain departures are not used
constexpr int still_under_way_ms = 60;
constexpr int greetings = 250;

double realtime_s() {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);  // like the kernel's time stamps of arrivals
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Packet {
  std::int64_t train;  // so that late packets are not assigned to another train
  std::int64_t number;
  double departed_s;       // sender's clock, before the call the call
  double previous_took_s;  // duration of the call for the previous packet
};

struct Arrival {
  Packet packet;
  double arrived_s;
  std::uint32_t dropped_here;  // by the receiving socket since its creation
};

// Results of one train.
struct Stops {
  double longest_s = 0;
  double sum_s = 0;
  double count = 0;
  double lasted_s = 0;
  double lost = 0;
  double sent = 0;
};

class Pauses final : public Benchmark {
 public:
  Pauses(const Parameters& parameters, const Communicator& communicator)
      : partner_(partner_in(communicator)),
        train_s_(static_cast<double>(parameters.integer("train_ms")) / 1000),
        spacing_(std::chrono::microseconds(parameters.integer("spacing_us"))),
        bytes_(parameters.integer("packet_bytes")) {
    socket_ = call_by_udp(partner_, route_to(partner_), 0);
    socket_.set(SOL_SOCKET, SO_TIMESTAMPNS, 1);
    socket_.set(SOL_SOCKET, SO_RXQ_OVFL, 1);
    socket_.set(SOL_SOCKET, SO_RCVBUF, 1 << 21);
    partner_.agree([this] {
      if (!hears_partner()) throw std::runtime_error("no datagram arrives: is UDP blocked between the hosts?");
    });
  }

  Work work() const override { return {}; }

  void run(Repetition& repetition) override {
    Stops out;
    repetition.time([&] { out = train(partner_.leads); });
    const Stops in = train(!partner_.leads);
    // The receiver of a train has its result.
    const Stops theirs = partner_.swap(partner_.leads ? in : out);
    const Stops& one = partner_.leads ? in : out;
    const double lasted = one.lasted_s + theirs.lasted_s;
    arrived_ = one.sent - one.lost;
    repetition.observe("longest_stop_s", std::max(one.longest_s, theirs.longest_s));
    repetition.observe("stopped_share", lasted > 0 ? (one.sum_s + theirs.sum_s) / lasted : 0);
    repetition.observe("stops_per_s", lasted > 0 ? (one.count + theirs.count) / lasted : 0);
    repetition.observe("lost_share", (one.lost + theirs.lost) / std::max(1.0, one.sent + theirs.sent));
  }

  // Each train arrives on one side.
  Check verify(std::uint64_t /*seed*/) override { return {1, arrived_ > 0 ? "" : "no packet of a train arrived"}; }

  bool loops() const override { return false; }

 private:
  bool hears_partner() {
    bool heard = false;
    for (int attempt = 0; attempt < greetings && !(heard && attempt >= 3); ++attempt) {
      put(0, 0);
      Arrival one{};
      if (poll_briefly(still_under_way_ms / 3)) heard |= take(one);
    }
    return heard;
  }

  Stops train(bool sends) {
    ++train_;
    partner_.meet();
    std::vector<Arrival> arrivals;
    std::int64_t sent = 0;
    if (sends)
      sent = emit();
    else
      arrivals = receive();
    const std::int64_t theirs = partner_.swap(sent);
    return sends ? Stops{} : judged(std::move(arrivals), theirs);
  }

  // Sends a train; returns the number of packets.
  std::int64_t emit() {
    double took_s = 0;
    const auto begin = Clock::now();
    auto next = begin;
    std::int64_t number = 0;
    for (; seconds_since(begin) < train_s_; ++number) {
      took_s = put(number, took_s);
      next += spacing_;
      const auto now = Clock::now();
      if (next < now) next = now;  // lost time is not made up for, as that would cause a burst
      sleep_until(next);
    }
    partner_.meet([] {});
    return number;
  }

  // Sends a packet; returns the duration of the call.
  double put(std::int64_t number, double previous_took_s) {
    std::vector<std::byte> bytes(bytes_);
    const Packet packet{train_, number, realtime_s(), previous_took_s};
    std::memcpy(bytes.data(), &packet, sizeof packet);
    if (send(socket_.descriptor(), bytes.data(), bytes.size(), MSG_DONTWAIT) < 0 && !would_block() &&
        errno != ENOBUFS && errno != ECONNREFUSED)
      fail("send");
    return realtime_s() - packet.departed_s;
  }

  static void sleep_until(Clock::time_point when) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(when - Clock::now()).count();
    if (left <= 0) return;
    const timespec time{left / 1'000'000'000, left % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
  }

  // Receives until the sender tells by MPI that it has ended, and no more packets arrive.
  std::vector<Arrival> receive() {
    std::vector<Arrival> arrivals;
    const auto take_next = [&](int longest_ms) {
      if (!poll_briefly(longest_ms)) return false;
      Arrival one{};
      if (take(one) && one.packet.train == train_) arrivals.push_back(one);
      return true;
    };
    partner_.meet([&] { take_next(1); });
    while (take_next(still_under_way_ms)) {
    }
    return arrivals;
  }

  bool poll_briefly(int longest_ms) const {
    pollfd waiting{socket_.descriptor(), POLLIN, 0};
    return poll(&waiting, 1, longest_ms) > 0;
  }

  bool take(Arrival& one) const {
    std::array<std::byte, 9000> bytes;
    std::array<char, 256> control;
    iovec part{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t length = recvmsg(socket_.descriptor(), &message, MSG_DONTWAIT);
    if (length < static_cast<ssize_t>(sizeof one.packet)) return false;
    std::memcpy(&one.packet, bytes.data(), sizeof one.packet);
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET) continue;
      if (header->cmsg_type == SO_RXQ_OVFL)
        std::memcpy(&one.dropped_here, CMSG_DATA(header), sizeof one.dropped_here);
      if (header->cmsg_type != SCM_TIMESTAMPNS) continue;
      timespec time;
      std::memcpy(&time, CMSG_DATA(header), sizeof time);
      one.arrived_s = static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    }
    return one.arrived_s > 0;
  }

  // Stops are jumps of the delay between successive packets with certain departures.
  static Stops judged(std::vector<Arrival> arrivals, std::int64_t sent) {
    Stops stops;
    stops.sent = stops.lost = static_cast<double>(sent);
    if (arrivals.empty()) return stops;
    std::sort(arrivals.begin(), arrivals.end(),
              [](const Arrival& a, const Arrival& b) { return a.packet.number < b.packet.number; });
    const Arrival* before = nullptr;
    for (std::size_t i = 0; i + 1 < arrivals.size(); ++i) {
      const Arrival& one = arrivals[i];
      const Arrival& after = arrivals[i + 1];
      const bool certain =
          after.packet.number == one.packet.number + 1 && after.packet.previous_took_s < sender_waited_s;
      if (!certain) continue;
      if (before != nullptr) {
        const double jump =
            (one.arrived_s - one.packet.departed_s) - (before->arrived_s - before->packet.departed_s);
        if (jump > least_stop_s) {
          stops.longest_s = std::max(stops.longest_s, jump);
          stops.sum_s += jump;
          stops.count += 1;
        }
      }
      before = &one;
    }
    stops.lasted_s = arrivals.back().arrived_s - arrivals.front().arrived_s;
    // Packets for which a late receiver has no space were not lost by the path.
    const std::uint32_t dropped = arrivals.back().dropped_here - arrivals.front().dropped_here;
    stops.lost = std::max(0.0, stops.sent - static_cast<double>(arrivals.size()) - dropped);
    return stops;
  }

  Partner partner_;
  double train_s_;
  std::chrono::microseconds spacing_;
  std::int64_t bytes_;
  Socket socket_;
  std::int64_t train_ = 0;
  double arrived_ = 0;
};

const Registration registration{{
    .name = "network.pauses",
    .title = "stalls of a path",
    .summary = "how often and how long a path stalls, seen by low-rate probe packets",
    .ranks = Ranks::exactly(2),
    .parameters =
        {size("packet_bytes", "B", 64, 32, 1400, "payload of each packet"),
         problem("spacing_us", "µs", 200, 20, 100'000, "time from one packet to the next").labeled("spacing"),
         problem("train_ms", "ms", 400, 50, 10'000, "sending time in each direction").labeled("train")},
    .definition = Definition::local,
    .metrics = {result_seconds("longest_stop_s").labeled("longest stall"),
                result("stopped_share", "1", Better::lower).labeled("fraction of the time in stalls"),
                result("stops_per_s", "1/s", Better::lower).labeled("stalls per second"),
                count("lost_share").labeled("fraction of the packets that were lost")},
    .sweeps = {{"standard", "ranks=2 placement=node"},
               {"advanced", "ranks=2 placement=node packet_bytes=64,1400 spacing_us=100,1000"}},
    .make = make<Pauses>,
}};

}  // namespace
}  // namespace scope::pauses
