// mpi.comms1: PARKBENCH COMMS1, a message and its echo by MPI_Send and MPI_Recv.
//
// Timed: a round trip on rank 0's clock; half of it is the time of a message. Every rank uses one buffer, like
// the original. Run for a pair on one host and for a pair on two hosts. After Hockney and Berry 1994, PARKBENCH
// report 1, section 3.3.1, and the NetFinity study.
#include <tuple>

#include "benchmarks/mpi/echo.hpp"

namespace scope::comms1 {
namespace {

constexpr int tag = 8;

class Comms1 final : public Echo {
 public:
  Comms1(const Parameters& parameters, const Communicator& communicator)
      : Echo(communicator, parameters.integer("message_bytes")) {}

  void run(Repetition& repetition) override {
    void* const buffer = message_.data();
    const auto [bytes, partner, comm] = std::tuple(static_cast<int>(message_.size()), partner_, comm_);
    time_round_trips(
        repetition, first_, [=] { MPI_Send(buffer, bytes, MPI_BYTE, partner, tag, comm); },
        [=] { MPI_Recv(buffer, bytes, MPI_BYTE, partner, tag, comm, MPI_STATUS_IGNORE); });
  }
};

const Registration registration{{
    .name = "mpi.comms1",
    .title = "COMMS1",
    .summary = "COMMS1: ping-pong with blocking send and receive, local and remote pairs",
    .ranks = Ranks::exactly(2),
    .parameters = {size("message_bytes", "B", 1024, 0, 1 << 30, "payload of each message")},
    .definition = Definition::half_round_trip,
    .metrics = {seconds("time_s"), bytes_per_second()},
    .sweeps = {{"baseline", "ranks=2 placement=core,node message_bytes=1Ki,64Ki,1Mi"},
               {"standard",
                "ranks=2 placement=core,node message_bytes=0,1,64,256,1Ki,4Ki,16Ki,64Ki,256Ki,1Mi,4Mi"}},
    .make = make<Comms1>,
}};

}  // namespace
}  // namespace scope::comms1
