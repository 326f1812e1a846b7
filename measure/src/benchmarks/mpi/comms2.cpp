// mpi.comms2: PARKBENCH COMMS2, a simultaneous exchange of two messages by MPI_Sendrecv.
//
// Timed: an exchange on both ranks' own clocks; the slower one counts. Both messages count for the bandwidth,
// so that a full-duplex path may reach twice the ping-pong's. After Hockney and Berry 1994, PARKBENCH report
// 1, section 3.3.2, and the NetFinity study.

#include "benchmarks/message_buffers.hpp"
#include "devices/device_messages.hpp"

namespace scope::comms2 {
namespace {

constexpr int tag = 9;

class Comms2 final : public Benchmark {
 public:
  Comms2(const Parameters& parameters, const Communicator& communicator)
      : partner_(1 - communicator.rank()),
        comm_(communicator.handle()),
        bytes_(static_cast<int>(parameters.integer("message_bytes"))),
        requested_(scope::message_buffers(parameters)),
        sent_(bytes_, requested_.layout),
        arrived_(bytes_, requested_.layout) {}

  Work work() const override { return {.bytes = 2.0 * bytes_, .messages = 2}; }

  void fill(std::uint64_t seed) override {
    sent_.write_pattern(own(seed));
    arrived_.clear();
  }

  void run(Repetition& repetition) override {
    sent_.use_in_turn(repetition.calls());
    arrived_.use_in_turn(repetition.calls());
    repetition.time([&](std::int64_t number) {
      MPI_Sendrecv(sent_.in_turn(number), bytes_, MPI_BYTE, partner_, tag, arrived_.in_turn(number), bytes_,
                   MPI_BYTE, partner_, tag, comm_, MPI_STATUS_IGNORE);
    });
  }

  Check verify(std::uint64_t seed) override {
    return {arrived_.count() * bytes_, arrived_.pattern_problem(others(seed))};
  }

  bool cold() const override { return requested_.cold; }
  std::vector<std::span<const std::byte>> message_buffers() override {
    return {sent_.memory(), arrived_.memory()};
  }

  std::span<std::byte> received() override { return arrived_.bytes(); }
  double kept_share(std::int64_t calls) const override { return arrived_.kept_share(calls, false); }

 private:
  // Contents differ between the two messages, so that they cannot be confused.
  std::uint64_t own(std::uint64_t seed) const { return 2 * seed + (1 - partner_); }
  std::uint64_t others(std::uint64_t seed) const { return 2 * seed + partner_; }

  int partner_;
  MPI_Comm comm_;
  int bytes_;
  MessageBuffers requested_;
  MessageSlots sent_;
  MessageSlots arrived_;
};

const Registration registration{{
    .name = "mpi.comms2",
    .title = "COMMS2",
    .summary = "COMMS2: simultaneous exchange by MPI_Sendrecv, local and remote pairs",
    .ranks = Ranks::exactly(2),
    .parameters = devices::with_memory(with_message_buffers(
        {size("message_bytes", "B", 1024, 0, 1 << 30, "payload of each of the two messages")})),
    .definition = Definition::local,
    .metrics = {seconds("time_s"), bytes_per_second()},
    .sweeps = {{"baseline", "ranks=2 placement=core,node message_bytes=0,1Ki,64Ki,1Mi"},
               {"standard",
                "ranks=2 placement=core,node message_bytes=0,1,64,256,1Ki,4Ki,16Ki,64Ki,256Ki,1Mi,4Mi"},
               {"advanced", "ranks=2 cache=cold message_bytes=1Ki,64Ki,1Mi"},
               {"advanced", "ranks=2 alignment=page rotation=16 offset_bytes=0,1 message_bytes=1Ki,64Ki,1Mi"},
               {"advanced", "ranks=2 sender_memory=device receiver_memory=device message_bytes=1Ki,64Ki,1Mi"},
               {"advanced", "ranks=2 sender_memory=staged receiver_memory=staged message_bytes=1Ki,64Ki,1Mi"}},
    .make =
        [](const Parameters& parameters, const Communicator& communicator) {
          if (devices::in_use(parameters)) return devices::made(devices::exchange, parameters, communicator);
          return make<Comms2>(parameters, communicator);
        },
}};

}  // namespace
}  // namespace scope::comms2
