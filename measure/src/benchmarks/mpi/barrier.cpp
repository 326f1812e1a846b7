// mpi.barrier: time of the library's barrier over all ranks.
//
// Timed: from the agreed start to the last exit on the synchronized clock; other definitions use the same raw
// times. Model 6.15 of the thesis: t = t_oc + t_init p + t_s ceil(log2 p).
#include <unistd.h>

#include "benchmarks/mpi/collective.hpp"

namespace scope::barrier {
namespace {

constexpr double delays_s[] = {1e-3, 20e-3, 400e-3};

const Calls calls{SCOPE_CALL_NAMES(Barrier, Ibarrier), SCOPE_CALL(Barrier, Ibarrier, , a.comm)};

class Barrier final : public Collective {
 public:
  Barrier(const Parameters& parameters, const Communicator& communicator) : Collective(parameters, communicator) {
    choose(calls, 0);
    set_arguments({}, 0, 0);
  }

  // Messages of one barrier as the thesis counts them for MPICH's butterfly, eq. 6.14.
  Work work() const override {
    int power = 1;
    int steps = 0;
    while (2 * power <= communicator_.size()) {
      power *= 2;
      ++steps;
    }
    return {.messages = groups_ * 2.0 * (steps * power / 2.0 + communicator_.size() - power)};
  }

  void run(Repetition& repetition) override {
    clock_ = &repetition.clock();
    Collective::run(repetition);
  }

  // One rank enters late, and no rank may leave before it. If one seems to, the check is repeated with a rank that
  // enters much later, to distinguish a barrier that does not wait from inexact clocks.
  Check verify(std::uint64_t seed) override {
    const int late = static_cast<int>(seed % communicator_.size());
    std::string message;
    for (const double delay_s : delays_s) {
      message = with_one_late(late, delay_s);
      if (!communicator_.any(!message.empty())) break;
    }
    return {1, message};
  }

 private:
  std::string with_one_late(int late, double delay_s) {
    if (communicator_.rank() == late) usleep(static_cast<useconds_t>(delay_s * 1e6));
    double came_s = clock_->now();
    operate();
    const double left_s = clock_->now();
    MPI_Bcast(&came_s, 1, MPI_DOUBLE, late, communicator_.handle());
    if (left_s >= came_s - delay_s / 2) return "";
    return sentence({"this rank left the barrier ", (came_s - left_s) * 1e6, " us before rank ", late, " came"});
  }

  const GlobalClock* clock_ = nullptr;
};

const Registration registration{{
    .name = "mpi.barrier",
    .title = "barrier",
    .summary = "barrier: from common start to last exit",
    .routines = collective_routines(calls),
    .parameters = {call_parameter(), group_parameter()},
    .definition = Definition::global,
    .metrics = {seconds("time_s"), hidden_share()},
    .sweeps = {{"baseline", "ranks=1,2,4"},
               {"standard", "ranks=every"},
               {"standard", "ranks=all call=nonblocking,overlapped,persistent"}},
    .make = make<Barrier>,
}};

}  // namespace
}  // namespace scope::barrier
