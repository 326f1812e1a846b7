// network.largest_packet: the largest packet delivered in each direction, and whether larger ones are reported.
//
// Sends datagrams that must not be fragmented, up to the smaller MTU of the two interfaces, and answers to them. A size
// counts as delivered if one of a few tries is answered. A path that drops packets of a size that both ends allow,
// without an ICMP message, is a black hole (RFC 2923, 8899): connections open, small messages pass, and the first long
// one hangs. Timed: the round trip of the largest packet that arrives in both directions, on the client's clock.
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <chrono>
#include <stdexcept>

#include "transports/streams.hpp"

namespace scope::packets {
namespace {

using Clock = std::chrono::steady_clock;
using streams::seconds_since;
using streams::would_block;

constexpr int header_bytes = 28;       // of IPv4 and UDP
constexpr int smallest_packet = 68;    // every IPv4 path must carry it
constexpr int largest_packet = 65535;  // of IPv4
constexpr int tries = 5;
constexpr int patience_ms = 200;  // wait for an answer before a small question is repeated
constexpr int reminders = 25;

// The beginning of a question and of its answer.
struct Head {
  std::uint32_t number;
  std::uint16_t packet_bytes;  // size of this packet
  std::uint16_t answer_bytes;  // size of the requested packet
  std::uint64_t seed;
};

class LargestPacket final : public Benchmark {
 public:
  LargestPacket(const Parameters& /*parameters*/, const Communicator& communicator)
      : partner_(partner_in(communicator)),
        client_(partner_.leads),
        buffer_(largest_packet),
        answer_(largest_packet) {
    const Route route = route_to(partner_);
    int mtu = 0;
    const int theirs = partner_.agree([&] { return mtu = mtu_of(interface_with(route.here)); });
    mtu_ = std::min({mtu, theirs, largest_packet});
    socket_ = call_by_udp(partner_, route, 0);
    // Never fragment, and try even sizes that the kernel believes to be too large for the path.
    socket_.set(IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
    const bool answered = serve_while([this] { return arrives(smallest_packet, smallest_packet); });
    partner_.agree([answered] {
      if (!answered) throw std::runtime_error("no datagram comes back: is UDP blocked between the hosts?");
    });
  }

  Work work() const override { return {.messages = 2}; }
  void fill(std::uint64_t seed) override { seed_ = seed; }

  void run(Repetition& repetition) override {
    told_ = false;
    Found found{};
    serve_while([&] {
      found.out = largest(found_.out, [this](int bytes) { return arrives(bytes, smallest_packet); });
      found.in = largest(found_.in, [this](int bytes) { return arrives(smallest_packet, bytes); });
      return true;
    });
    found.told = told_;
    const Found theirs = partner_.swap(found);
    found_ = client_ ? found : theirs;
    found_.told = found.told || theirs.told;
    const int both = std::min(found_.out, found_.in);
    if (client_) {
      repetition.time([&] { returned_ = round_trip(both); });
      partner_.meet([] {});
    } else {
      repetition.time([] {});
      partner_.meet([this] { serve(); });
    }
    repetition.observe("mtu_bytes", mtu_);
    repetition.observe("largest_out_bytes", found_.out);
    repetition.observe("largest_in_bytes", found_.in);
    repetition.observe("delivered_share", static_cast<double>(both) / mtu_);
    repetition.observe("told", found_.told ? 1 : 0);
  }

  Check verify(std::uint64_t /*seed*/) override {
    compare_last();
    if (client_ && !returned_ && problem_.empty()) problem_ = "the largest packet, sent again, did not come back";
    return {static_cast<std::int64_t>(last_bytes_), std::exchange(problem_, {})};
  }

  std::span<std::byte> received() override { return answer_.bytes().first(last_bytes_); }
  bool repeats() const override { return false; }
  bool loops() const override { return false; }

 private:
  struct Found {
    int out = 0;
    int in = 0;
    bool told = false;
  };

  int mtu_of(const std::string& interface) const {
    const Socket any = open_socket(AF_INET, SOCK_DGRAM);
    ifreq request{};
    interface.copy(request.ifr_name, IFNAMSIZ - 1);
    if (ioctl(any.descriptor(), SIOCGIFMTU, &request) != 0) fail("SIOCGIFMTU " + interface);
    return request.ifr_mtu;
  }

  // The client calls `ask`; the server answers until the client has finished. Both return the client's result.
  template <class Ask>
  bool serve_while(Ask&& ask) {
    bool result = true;
    if (client_) {
      result = ask();
      partner_.meet([] {});
    } else {
      partner_.meet([this] { serve(); });
    }
    const bool theirs = partner_.swap(result);
    return client_ ? result : theirs;
  }

  // The largest size that arrives; the result `before` of the previous search is tried first.
  template <class Arrives>
  int largest(int before, Arrives&& arrives) const {
    if (arrives(mtu_)) return mtu_;
    int low = smallest_packet;
    int high = mtu_;  // does not arrive
    if (before > low && before < high && arrives(before)) {
      if (!arrives(before + 1)) return before;
      low = before + 1;
    }
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (arrives(middle) ? low : high) = middle;
    }
    return low;
  }

  // Whether a packet of one size is answered by one of the other size. Each question is followed by a small one:
  // if that is answered first, the large one had enough time, however busy the partner is.
  bool arrives(int out_bytes, int in_bytes) {
    for (int attempt = 0; attempt < tries; ++attempt) {
      const std::uint32_t asked = ask(out_bytes, in_bytes);
      bool passed = false;
      for (int reminder = 0; reminder < reminders && !passed; ++reminder) {
        const std::uint32_t small = ask(smallest_packet, smallest_packet);
        const std::uint32_t first = answered(asked, small);
        if (first == asked) return true;
        passed = first == small;
      }
      if (!passed) return false;
    }
    return false;
  }

  // Asks again if the question or its answer is lost.
  bool round_trip(int bytes) {
    for (int attempt = 0; attempt < reminders; ++attempt) {
      const std::uint32_t asked = ask(bytes, bytes);
      if (answered(asked, asked) == asked) return true;
    }
    return false;
  }

  std::uint32_t ask(int out_bytes, int in_bytes) {
    put({++number_, static_cast<std::uint16_t>(out_bytes), static_cast<std::uint16_t>(in_bytes), seed_});
    return number_;
  }

  // Returns which of two questions is answered first; 0 if none is answered in time.
  std::uint32_t answered(std::uint32_t one, std::uint32_t other) {
    const auto begin = Clock::now();
    for (int left_ms = patience_ms; left_ms > 0;
         left_ms = patience_ms - static_cast<int>(1000 * seconds_since(begin))) {
      const std::optional<Head> head = take(left_ms);
      if (head && (head->number == one || head->number == other)) return head->number;
    }
    return 0;
  }

  // Answers a question, or returns after waiting for a millisecond.
  void serve() {
    const std::optional<Head> question = take(1);
    if (question) put({question->number, question->answer_bytes, 0, question->seed});
  }

  void put(const Head& head) {
    const std::size_t length = head.packet_bytes - header_bytes;
    write_pattern(buffer_.bytes().first(length), head.seed);
    std::memcpy(buffer_.data(), &head, sizeof head);
    note(send(socket_.descriptor(), buffer_.data(), length, MSG_DONTWAIT));
  }

  // Returns a packet that arrived completely.
  std::optional<Head> take(int longest_ms) {
    pollfd waiting{socket_.descriptor(), POLLIN, 0};
    if (poll(&waiting, 1, longest_ms) <= 0) return std::nullopt;
    const ssize_t length = recv(socket_.descriptor(), answer_.data(), answer_.size(), MSG_DONTWAIT);
    note(length);
    Head head{};
    if (length < static_cast<ssize_t>(sizeof head)) return std::nullopt;
    std::memcpy(&head, answer_.data(), sizeof head);
    if (head.packet_bytes != length + header_bytes) return std::nullopt;
    last_bytes_ = static_cast<std::size_t>(length);
    last_ = head;
    compare_last();
    return head;
  }

  void compare_last() {
    if (last_bytes_ == 0) return;
    write_pattern(buffer_.bytes().first(last_bytes_), last_.seed);
    std::memcpy(buffer_.data(), &last_, sizeof last_);
    if (std::memcmp(buffer_.data(), answer_.data(), last_bytes_) != 0)
      problem_ =
          sentence({"a packet of ", static_cast<std::int64_t>(last_bytes_ + header_bytes), " B arrived damaged"});
  }

  // The kernel reports an ICMP "fragmentation needed" as EMSGSIZE in a later call.
  void note(ssize_t done) {
    if (done >= 0 || would_block()) return;
    if (errno == EMSGSIZE)
      told_ = true;
    else if (errno != ECONNREFUSED)
      fail("a datagram");
  }

  Partner partner_;
  bool client_;
  int mtu_ = 0;
  Socket socket_;
  Buffer buffer_;
  Buffer answer_;
  Head last_{};
  std::size_t last_bytes_ = 0;
  std::uint32_t number_ = 0;
  std::uint64_t seed_ = 0;
  Found found_;
  bool told_ = false;
  bool returned_ = true;
  std::string problem_;
};

const Registration registration{{
    .name = "network.largest_packet",
    .title = "largest packet",
    .summary = "largest unfragmented packet that a path delivers in each direction",
    .ranks = Ranks::exactly(2),
    .definition = Definition::local,
    .metrics = {seconds("round_trip_s").labeled("round trip of the largest packet"),
                result("largest_out_bytes", "B", Better::higher).labeled("largest packet from the first host"),
                result("largest_in_bytes", "B", Better::higher).labeled("largest packet to the first host"),
                result("delivered_share", "1", Better::higher).labeled("largest packet / MTU of the hosts"),
                condition("mtu_bytes", "B", Better::higher).labeled("MTU of the hosts"),
                condition("told", "1", Better::higher).labeled("ICMP message about the size")},
    .sweeps = {{"standard", "ranks=2 placement=node"}},
    .make = make<LargestPacket>,
}};

}  // namespace
}  // namespace scope::packets
