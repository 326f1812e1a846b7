// mpi.matched_receive: the ping-pong of a program that looks at a message before it receives it.
//
// Timed: a message from rank 0 to rank 1 and its echo, each matched by MPI_Mprobe and received by MPI_Mrecv, on
// rank 0's clock; half of it is the latency.
#include "benchmarks/mpi/echo.hpp"

namespace scope {
namespace {

constexpr int tag = 41;

class MatchedReceive final : public Echo {
 public:
  MatchedReceive(const Parameters& parameters, const Communicator& communicator)
      : Echo(communicator, parameters.integer("message_bytes")) {}

  void run(Repetition& repetition) override {
    time_round_trips(repetition, first_, [this] { send(); }, [this] { receive(); });
  }

 private:
  void send() { MPI_Send(message_.data(), bytes(), MPI_BYTE, partner_, tag, comm_); }
  void receive() {
    MPI_Message matched = MPI_MESSAGE_NULL;
    MPI_Mprobe(partner_, tag, comm_, &matched, MPI_STATUS_IGNORE);
    MPI_Mrecv(message_.data(), bytes(), MPI_BYTE, &matched, MPI_STATUS_IGNORE);
  }
  int bytes() const { return static_cast<int>(message_.size()); }
};

const Registration registration{{
    .name = "mpi.matched_receive",
    .title = "matched ping-pong",
    .summary = "half a round trip of a message that is matched before it is received",
    .ranks = Ranks::exactly(2),
    .routines = {{"MPI_Mrecv"}},
    .rungs = {{Pattern::ping_pong}},
    .parameters = {size("message_bytes", "B", 8, 0, 1 << 30, "payload of each message")},
    .definition = Definition::half_round_trip,
    .metrics = {seconds("latency_s"), bytes_per_second()},
    .sweeps = {{"standard", "ranks=2 message_bytes=8,1Ki,64Ki"}},
    .make = make<MatchedReceive>,
}};

}  // namespace
}  // namespace scope
