// network.bandwidth, .bidirectional, .message_rate, .bisection: windows of messages between the two halves of
// the ranks, without MPI.
//
// Timed: a window of messages in one direction or in both, and one byte back when all of it has arrived. The
// benchmarks differ in the number of concurrent pairs and in the direction; after thesis 6.5.2 ("hose") and
// NetFinity's comms1 and comms2.
#include "benchmarks/network/transport_parameters.hpp"
#include "memory/buffer.hpp"

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
        sent_(parameters.integer("message_bytes")),
        arrived_(sent_.size()) {}

  Work work() const override {
    const double messages = static_cast<double>(pairs_) * window_ * (sends_ && receives_ ? 2 : 1);
    return {.bytes = messages * static_cast<double>(sent_.size()), .messages = messages};
  }

  void fill(std::uint64_t seed) override {
    if (sends_) write_pattern(sent_.bytes(), of(seed, partner_.leads));
    arrived_.clear();
  }

  void run(Repetition& repetition) override {
    const double repeated = transport_->repeated();
    const auto bytes = std::as_writable_bytes(std::span(&all_here_, 1));
    const auto answer = std::as_bytes(std::span(&answer_, 1));
    repetition.time([&] {
      transport_->exchange(sent_.bytes(), sends_ ? window_ : 0, arrived_.bytes(), receives_ ? window_ : 0);
      transport_->exchange(answer, receives_ ? 1 : 0, bytes, sends_ ? 1 : 0);
    });
    transport_->settle(partner_);
    repetition.observe("retransmitted_packets", transport_->repeated() - repeated);
    repetition.observe("granted_buffer_bytes", transport_->buffer_bytes());
  }

  Check verify(std::uint64_t seed) override {
    if (!receives_) return {};
    return {static_cast<std::int64_t>(arrived_.size()),
            pattern_problem(arrived_.bytes(), of(seed, !partner_.leads))};
  }

  std::span<std::byte> received() override { return receives_ ? arrived_.bytes() : std::span<std::byte>(); }

 private:
  // Each direction has a pattern of its own.
  static std::uint64_t of(std::uint64_t seed, bool from_leader) { return 2 * seed + (from_leader ? 1 : 0); }

  Partner partner_;
  bool sends_;
  bool receives_;
  int pairs_;
  int window_;
  std::unique_ptr<Transport> transport_;
  Buffer sent_;
  Buffer arrived_;
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
  metrics.push_back(condition("granted_buffer_bytes", "B", Better::higher).labelled("granted socket buffer"));
  return {.name = member.name,
          .title = member.title,
          .summary = member.summary,
          .ranks = member.one_pair ? Ranks::exactly(2) : Ranks::even(),
          .rungs = member.rungs,
          .parameters = network_parameters(
              member.message_bytes,
              {call("window", "", 64, 1, 4096, "messages in each direction before the acknowledgement")}),
          .definition = member.one_pair ? Definition::local : Definition::max_rank,
          .metrics = metrics,
          .sweeps = member.sweeps,
          .make = [ways = member.ways](const Parameters& parameters,
                                       const Communicator& communicator) -> std::unique_ptr<Benchmark> {
            return std::make_unique<Stream>(parameters, communicator, ways);
          }};
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
     .sweeps = {{"baseline", "ranks=2 protocol=tcp message_bytes=1,1Ki,64Ki,1Mi"},
                {"baseline", "ranks=2 protocol=shm,cma message_bytes=1Mi"},
                {"standard",
                 "ranks=2 protocol=tcp,udp,unix,shm,cma "
                 "message_bytes=1,8,64,256,1Ki,4Ki,8Ki,16Ki,32Ki,64Ki,256Ki,1Mi"},
                {"standard", "ranks=2 protocol=libfabric,ucx message_bytes=64,1Ki,8Ki,64Ki,1Mi"},
                {"standard", "ranks=2 protocol=tcp,udp,unix message_bytes=1Mi socket_buffer_bytes=16Ki,64Ki"},
                {"advanced",
                 "ranks=2 protocol=tcp message_bytes=64Ki,1Mi "
                 "socket_buffer_bytes=4Ki,16Ki,64Ki,256Ki,1Mi,4Mi"},
                {"advanced", "ranks=2 protocol=ethernet flow=credits,none message_bytes=64,1Ki,64Ki,1Mi"},
                {"advanced", "ranks=2 protocol=udp flow=none message_bytes=1Ki,64Ki,1Mi"}}})};

const Registration bidirectional{declaration(
    {.name = "network.bidirectional",
     .title = "bidirectional bandwidth without MPI",
     .summary = "streams of messages in both directions at once, without MPI",
     .ways = Ways::both,
     .one_pair = true,
     .message_bytes = 1 << 20,
     .metrics = {bytes_per_second(), messages_per_second()},
     .sweeps = {{"baseline", "ranks=2 protocol=tcp message_bytes=1Mi"},
                {"standard", "ranks=2 protocol=tcp,udp,unix,shm,cma message_bytes=1Ki,64Ki,1Mi"},
                {"advanced", "ranks=2 protocol=libfabric,ucx,ethernet message_bytes=1Ki,64Ki,1Mi"}}})};

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
                {"advanced", "ranks=2 protocol=libfabric,ucx,ethernet message_bytes=8,64,1Ki"}}})};

const Registration bisection{declaration(
    {.name = "network.bisection",
     .title = "bisection bandwidth without MPI",
     .summary = "aggregate bandwidth between the two halves of the ranks, both directions at once",
     .ways = Ways::both,
     .one_pair = false,
     .message_bytes = 1 << 18,
     .metrics = {bytes_per_second()},
     .sweeps = {{"baseline", "ranks=all protocol=tcp message_bytes=256Ki window=16"},
                {"standard", "ranks=all protocol=tcp,shm message_bytes=4Ki,64Ki,1Mi window=16"},
                {"advanced", "ranks=powers protocol=tcp,libfabric,ucx message_bytes=64Ki,1Mi window=16"}}})};

}  // namespace
}  // namespace scope::stream
