// mpi.hot_potato: one message passed around all ranks, the generalized ping-pong of P-COMS.
//
// Timed: a full round on every rank's own clock; the slowest rank counts. The time of a hop is the round's time
// divided by the number of ranks, so that two ranks give the ping-pong.
#include "benchmarks/mpi/echo.hpp"

namespace scope::hot_potato {
namespace {

constexpr int tag = 10;

class HotPotato final : public Echo {
 public:
  HotPotato(const Parameters& parameters, const Communicator& communicator)
      : Echo(communicator, parameters.integer("message_bytes")),
        ranks_(communicator.size()),
        next_((communicator.rank() + 1) % ranks_),
        previous_((communicator.rank() + ranks_ - 1) % ranks_) {}

  Work work() const override {
    const double hops = ranks_;
    return {.bytes = hops * static_cast<double>(message_.size()), .messages = hops, .steps = hops};
  }

  void run(Repetition& repetition) override {
    const int bytes = static_cast<int>(message_.size());
    const auto hand_on = [&] { MPI_Send(message_.data(), bytes, MPI_BYTE, next_, tag, comm_); };
    const auto take = [&] {
      MPI_Recv(message_.data(), bytes, MPI_BYTE, previous_, tag, comm_, MPI_STATUS_IGNORE);
    };
    time_round_trips(repetition, first_, hand_on, take);
  }

 private:
  int ranks_;
  int next_;
  int previous_;
};

const Registration registration{{
    .name = "mpi.hot_potato",
    .title = "hot potato",
    .summary = "one message passed around all ranks: time per hop",
    .ranks = Ranks::at_least(2),
    .parameters = {size("message_bytes", "B", 1024, 0, 1 << 30, "payload of the message")},
    .definition = Definition::local,
    .metrics = {seconds_per_step("hop_s").labeled("time per hop"), bytes_per_second()},
    .sweeps = {{"baseline", "ranks=2,4 message_bytes=0,64Ki"},
               {"standard", "ranks=every message_bytes=0,1Ki,64Ki,1Mi"},
               {"standard", "ranks=nodes placement=node message_bytes=0,1Ki,64Ki,1Mi"}},
    .make = make<HotPotato>,
}};

}  // namespace
}  // namespace scope::hot_potato
