// network.latency: the ping-pong of the transport below MPI.
//
// Timed: a message from the client (rank 0) to the server (rank 1) and its echo, on the client's clock; half
// of the round trip is the latency. It depends on TCP_NODELAY, and on whether the transport sleeps in the
// kernel or polls like an MPI library; both are parameters. After thesis 6.5.2.
#include "benchmarks/network/transport_parameters.hpp"
#include "benchmarks/ping_pong_buffers.hpp"

namespace scope::latency {
namespace {

class PingPong final : public Benchmark {
 public:
  PingPong(const Parameters& parameters, const Communicator& communicator)
      : client_(communicator.root()),
        partner_(partner_in(communicator)),
        transport_(connect(parameters, partner_)),
        bytes_(parameters.integer("message_bytes")),
        requested_(scope::message_buffers(parameters)),
        buffers_(parameters.choice("buffers"), parameters.integer("message_bytes"), requested_.layout, client_,
                 false) {}

  Work work() const override { return {.bytes = static_cast<double>(bytes_), .messages = 1, .steps = 2}; }

  void fill(std::uint64_t seed) override { buffers_.fill(seed); }

  void run(Repetition& repetition) override {
    const double repeated = transport_->repeated();
    const auto ping = [&] {
      transport_->send(source());
      transport_->receive(destination());
      buffers_.turn();
    };
    const auto pong = [&] {
      transport_->receive(destination());
      buffers_.turn();
      transport_->send(source());
    };
    if (transport_->settles()) client_ ? ping() : pong();
    client_ ? repetition.time(ping) : repetition.time(pong);
    transport_->settle(partner_);
    repetition.observe("retransmitted_packets", transport_->repeated() - repeated);
  }

  Check verify(std::uint64_t seed) override { return {static_cast<std::int64_t>(bytes_), buffers_.problem(seed)}; }

  std::span<std::byte> received() override { return buffers_.received(); }
  double kept_share(std::int64_t calls) const override { return buffers_.kept_share(calls); }

  std::vector<ControlVariable> settings() const override { return settings_of(*transport_); }
  bool cold() const override { return requested_.cold; }
  std::vector<std::span<const std::byte>> message_buffers() override { return buffers_.memory(); }

 private:
  std::span<const std::byte> source() { return {buffers_.source(), bytes_}; }
  std::span<std::byte> destination() { return {buffers_.destination(), bytes_}; }

  bool client_;
  Partner partner_;
  std::unique_ptr<Transport> transport_;
  std::size_t bytes_;
  MessageBuffers requested_;
  PingPongBuffers buffers_;
};

const Registration registration{{
    .name = "network.latency",
    .title = "ping-pong without MPI",
    .summary = "ping-pong over a transport, without MPI",
    .ranks = Ranks::exactly(2),
    .rungs = network_rungs(Pattern::ping_pong),
    .parameters = network_parameters(1, {buffers_parameter()}),
    .definition = Definition::half_round_trip,
    .metrics = {seconds("latency_s"), bytes_per_second(), retransmitted_packets()},
    .sweeps = {{"baseline", "ranks=2 protocol=tcp message_bytes=1,64,1Ki,16Ki,64Ki,256Ki,1Mi,4Mi"},
               {"baseline", "ranks=2 placement=node protocol=tcp message_bytes=1,1Ki,64Ki,1Mi,4Mi"},
               {"baseline", "ranks=2 protocol=shm message_bytes=1,64Ki,4Mi"},
               {"baseline", "ranks=2 protocol=cma message_bytes=1Mi,4Mi"},
               {"baseline", "ranks=2 protocol=tcp nodelay=off message_bytes=1"},
               {"baseline", "ranks=2 protocol=tcp wait=blocking message_bytes=1"},
               {"standard",
                "ranks=2 protocol=tcp,udp,unix,shm,cma "
                "message_bytes=1,8,64,256,1Ki,4Ki,8Ki,16Ki,32Ki,64Ki,256Ki,1Mi,4Mi"},
               {"standard", "ranks=2 protocol=tcp,udp,unix wait=blocking message_bytes=1,1Ki,64Ki,1Mi"},
               {"standard", "ranks=2 protocol=tcp nodelay=off message_bytes=1,1Ki,64Ki"},
               {"standard", "ranks=2 protocol=libfabric,ucx message_bytes=1,64,1Ki,8Ki,64Ki,1Mi"},
               {"advanced", "ranks=2 protocol=ethernet message_bytes=1,64,1Ki,16Ki,64Ki,1Mi"},
               {"advanced", "ranks=2 protocol=active_messages message_bytes=1,64,1Ki,16Ki,64Ki,1Mi"},
               {"advanced", "ranks=2 protocol=udp,ethernet,active_messages flow=none message_bytes=1,64Ki,1Mi"},
               {"advanced", "ranks=2 protocol=tcp,shm cache=cold message_bytes=1,1Ki,64Ki,1Mi"},
               {"advanced", "ranks=2 protocol=tcp,shm rotation=16 message_bytes=1Ki,64Ki,1Mi"},
               {"advanced",
                "ranks=2 protocol=tcp,shm alignment=page offset_bytes=0,1,2048 message_bytes=1Ki,64Ki,1Mi"}},
    .make = make<PingPong>,
}};

}  // namespace
}  // namespace scope::latency
