// mpi.persistent: the ping-pong with requests that are created once and then started for every message.
//
// Timed: MPI_Start and MPI_Wait of a message from rank 0 to rank 1 and of its echo, on rank 0's clock; half
// of the round trip is the latency. Creating and freeing the requests is not timed.

#include "benchmarks/mpi/echo.hpp"

namespace scope::persistent {
namespace {

constexpr int tag = 15;

class Persistent final : public Echo {
 public:
  Persistent(const Parameters& parameters, const Communicator& communicator)
      : Echo(communicator, parameters.integer("message_bytes")) {
    const int bytes = static_cast<int>(message_.size());
    const auto make_send = parameters.choice("mode") == "synchronous" ? MPI_Ssend_init : MPI_Send_init;
    make_send(message_.data(), bytes, MPI_BYTE, partner_, tag, comm_, &send_);
    MPI_Recv_init(message_.data(), bytes, MPI_BYTE, partner_, tag, comm_, &receive_);
  }
  ~Persistent() override {
    MPI_Request_free(&send_);
    MPI_Request_free(&receive_);
  }

  void run(Repetition& repetition) override {
    time_round_trips(repetition, first_, [this] { complete(send_); }, [this] { complete(receive_); });
  }

 private:
  static void complete(MPI_Request& request) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

  MPI_Request send_ = MPI_REQUEST_NULL;
  MPI_Request receive_ = MPI_REQUEST_NULL;
};

const Registration registration{{
    .name = "mpi.persistent",
    .title = "persistent ping-pong",
    .summary = "ping-pong with persistent requests: one-way latency",
    .ranks = Ranks::exactly(2),
    .parameters = {call("mode", "standard,synchronous", "send mode").worded(",synchronous"),
                   size("message_bytes", "B", 1024, 0, 1 << 30, "payload of each message")},
    .definition = Definition::half_round_trip,
    .metrics = {seconds("latency_s"), bytes_per_second()},
    .sweeps = {{"standard", "ranks=2 placement=core,node mode=standard,synchronous message_bytes=0,1Ki,64Ki,1Mi"}},
    .make = make<Persistent>,
}};

}  // namespace
}  // namespace scope::persistent
