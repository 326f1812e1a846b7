// network.bandwidth, .bidirectional, .message_rate, .bisection: windows of messages between the two halves of
// the ranks, without MPI.
//
// Timed: a window of messages in one direction or in both, and one byte back when the whole window has arrived.
// The benchmarks differ in the number of concurrent pairs and in the direction; after thesis 6.5.2 ("hose") and
// NetFinity's comms1 and comms2.
#include "benchmarks/network/transport_parameters.hpp"

namespace scope::stream {
namespace {

enum class Ways { one, both };

class Stream final : public Benchmark {
 public:
  Stream(const Parameters& parameters, const Communicator& communicator, Ways ways)
      : partner_(partner_in(communicator)),
        sends_(ways == Ways::both || partner_.leads),
        receives_(ways == Ways::both || !partner_.leads),
        pairs_(communicator.size() / 2),
        window_(static_cast<int>(parameters.integer("window"))),
        transport_(connect(parameters, partner_)),
        bytes_(parameters.integer("message_bytes")),
        rewritten_(parameters.choice("source") == "rewritten"),
        many_(parameters.choice("receive_buffers") == "many"),
        requested_(scope::message_buffers(parameters)),
        sent_(bytes_, requested_.layout),
        arrived_(bytes_, requested_.layout) {}

  Work work() const override {
    const double messages = static_cast<double>(pairs_) * window_ * (sends_ && receives_ ? 2 : 1);
    return {.bytes = messages * static_cast<double>(bytes_), .messages = messages};
  }

  void fill(std::uint64_t seed) override {
    if (sends_) sent_.write_pattern(of(seed, partner_.leads));
    arrived_.clear();
  }

  void run(Repetition& repetition) override {
    const double repeated = transport_->repeated();
    const Destination all_here{std::as_writable_bytes(std::span(&all_here_, 1))};
    const auto answer = std::as_bytes(std::span(&answer_, 1));
    const std::int64_t places = many_ ? std::min<std::int64_t>(window_, arrived_.most()) : 1;
    many_ ? arrived_.use(places * repetition.calls()) : arrived_.use_in_turn(repetition.calls());
    sent_.use_in_turn(repetition.calls());
    // Like in a program that computes the data it sends, no other processor's cache has a copy.
    if (sends_ && rewritten_ && !requested_.cold) rewrite(sent_.bytes());
    repetition.time([&](std::int64_t number) {
      const std::int64_t place = number * places % arrived_.count();
      const Destination window{arrived_.slot(place), arrived_.stride(), places};
      const std::span<const std::byte> message{sent_.in_turn(number), static_cast<std::size_t>(bytes_)};
      transport_->exchange(message, sends_ ? window_ : 0, window, receives_ ? window_ : 0);
      transport_->exchange(answer, receives_ ? 1 : 0, all_here, sends_ ? 1 : 0);
    });
    transport_->settle(partner_);
    repetition.observe("retransmitted_packets", transport_->repeated() - repeated);
    repetition.observe("granted_buffer_bytes", transport_->buffer_bytes());
  }

  Check verify(std::uint64_t seed) override {
    if (!receives_) return {};
    return {arrived_.count() * bytes_, arrived_.pattern_problem(of(seed, !partner_.leads))};
  }

  std::span<std::byte> received() override { return receives_ ? arrived_.bytes() : std::span<std::byte>(); }
  double kept_share(std::int64_t calls) const override { return arrived_.kept_share(calls * window_, many_); }
  std::int64_t most_operations() const override {
    return many_ ? std::max<std::int64_t>(1, arrived_.most() / window_) : Benchmark::most_operations();
  }

  std::vector<ControlVariable> settings() const override { return settings_of(*transport_); }
  bool cold() const override { return requested_.cold; }
  std::vector<std::span<const std::byte>> message_buffers() override {
    return {sent_.memory(), arrived_.memory()};
  }

 private:
  // Each direction has its own pattern.
  static std::uint64_t of(std::uint64_t seed, bool from_leader) { return 2 * seed + (from_leader ? 1 : 0); }

  Partner partner_;
  bool sends_;
  bool receives_;
  int pairs_;
  int window_;
  std::unique_ptr<Transport> transport_;
  std::int64_t bytes_;
  bool rewritten_;
  bool many_;
  MessageBuffers requested_;
  MessageSlots sent_;  // one message per window; windows alternate
  MessageSlots arrived_;
  const std::byte answer_{1};
  std::byte all_here_{};
};

struct Member {
  const char* name;
  const char* title;
  const char* summary;
  Ways ways;
  bool one_pair;
  std::int64_t message_bytes;
  std::vector<Rung> rungs = {};
  std::vector<Metric> metrics;
  std::vector<Sweep> sweeps;
};

Declaration declaration(const Member& member) {
  std::vector<Metric> metrics = member.metrics;
  metrics.push_back(retransmitted_packets());
  metrics.push_back(condition("granted_buffer_bytes", "B", Better::higher).labeled("granted socket buffer"));
  return {.name = member.name,
          .title = member.title,
          .summary = member.summary,
          .ranks = member.one_pair ? Ranks::exactly(2) : Ranks::even(),
          .rungs = member.rungs,
          .parameters = network_parameters(
              member.message_bytes,
              {call("window", "", 64, 1, 4096, "messages sent in each direction before the acknowledgement"),
               source_parameter(), receive_buffers_parameter()}),
          .definition = member.one_pair ? Definition::local : Definition::max_rank,
          .metrics = metrics,
          .sweeps = member.sweeps,
          .make = [ways = member.ways](const Parameters& parameters, const Communicator& communicator)
              -> std::unique_ptr<Benchmark> { return std::make_unique<Stream>(parameters, communicator, ways); }};
}

const Registration bandwidth{declaration(
    {.name = "network.bandwidth",
     .title = "bandwidth without MPI",
     .summary = "stream of messages in one direction over a transport, without MPI",
     .ways = Ways::one,
     .one_pair = true,
     .message_bytes = 1 << 20,
     .rungs = network_rungs(Pattern::stream),
     .metrics = {bytes_per_second(), messages_per_second()},
     .sweeps = {
         {"baseline", "ranks=2 protocol=tcp message_bytes=1,1Ki,64Ki,1Mi"},
         {"baseline", "ranks=2 placement=node protocol=tcp message_bytes=1Mi"},
         {"baseline", "ranks=2 protocol=shm,cma message_bytes=1Mi"},
         {"standard",
          "ranks=2 protocol=tcp,udp,unix,shm,cma message_bytes=1,8,64,256,1Ki,4Ki,8Ki,16Ki,32Ki,64Ki,256Ki,1Mi"},
         {"standard", "ranks=2 protocol=libfabric,ucx message_bytes=64,1Ki,8Ki,64Ki,1Mi"},
         {"standard", "ranks=2 protocol=tcp,udp,unix message_bytes=1Mi socket_buffer_bytes=16Ki,64Ki"},
         {"advanced",
          "ranks=2 protocol=tcp message_bytes=64Ki,1Mi socket_buffer_bytes=4Ki,16Ki,64Ki,256Ki,1Mi,4Mi"},
         {"advanced", "ranks=2 protocol=ethernet,active_messages flow=credits,none message_bytes=64,1Ki,64Ki,1Mi"},
         {"advanced", "ranks=2 protocol=udp flow=none message_bytes=1Ki,64Ki,1Mi"},
         {"advanced", "ranks=2 protocol=tcp,shm cache=cold message_bytes=1Ki,64Ki,1Mi"},
         {"advanced", "ranks=2 protocol=tcp,shm rotation=16 message_bytes=1Ki,64Ki,1Mi"},
         {"advanced",
          "ranks=2 protocol=tcp,shm alignment=page offset_bytes=0,1,2048 message_bytes=1Ki,64Ki,1Mi"}}})};

const Registration bidirectional{declaration(
    {.name = "network.bidirectional",
     .title = "bidirectional bandwidth without MPI",
     .summary = "streams of messages in both directions at once, without MPI",
     .ways = Ways::both,
     .one_pair = true,
     .message_bytes = 1 << 20,
     .metrics = {bytes_per_second(), messages_per_second()},
     .sweeps = {
         {"baseline", "ranks=2 protocol=tcp message_bytes=1Mi"},
         {"standard", "ranks=2 protocol=tcp,udp,unix,shm,cma message_bytes=1Ki,64Ki,1Mi"},
         {"advanced", "ranks=2 protocol=libfabric,ucx,ethernet,active_messages message_bytes=1Ki,64Ki,1Mi"}}})};

const Registration message_rate{declaration(
    {.name = "network.message_rate",
     .title = "message rate without MPI",
     .summary = "small messages per second of all pairs of ranks, without MPI",
     .ways = Ways::one,
     .one_pair = false,
     .message_bytes = 8,
     .metrics = {messages_per_second()},
     .sweeps = {{"baseline", "ranks=2 protocol=tcp,shm message_bytes=8"},
                {"standard", "ranks=powers protocol=tcp,udp,unix,shm,cma message_bytes=8,64,1Ki"},
                {"advanced", "ranks=2 protocol=libfabric,ucx,ethernet,active_messages message_bytes=8,64,1Ki"}}})};

const Registration bisection{declaration(
    {.name = "network.bisection",
     .title = "bisection bandwidth without MPI",
     .summary = "aggregate bandwidth between the two halves of the ranks, both directions at once",
     .ways = Ways::both,
     .one_pair = false,
     .message_bytes = 1 << 18,
     .metrics = {bytes_per_second()},
     .sweeps = {{"baseline", "ranks=2,4 protocol=tcp message_bytes=256Ki window=16"},
                {"standard", "ranks=all protocol=tcp,shm message_bytes=4Ki,64Ki,1Mi window=16"},
                {"advanced", "ranks=powers protocol=tcp,libfabric,ucx message_bytes=64Ki,1Mi window=16"}}})};

}  // namespace
}  // namespace scope::stream
