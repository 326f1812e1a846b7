// mpi.barrier: how long the library takes to bring all processes together.
//
// Timed: from the agreed start to the last exit on the synchronised clock; other definitions from the same
// raw times. Model 6.15 of the thesis: t = t_oc + t_init p + t_s ceil(log2 p).
#include <unistd.h>

#include <vector>

#include "benchmark.hpp"

namespace scope {
namespace {

constexpr double delay_s = 1e-3;

class Barrier final : public Benchmark {
 public:
  explicit Barrier(const Communicator& communicator) : communicator_(communicator) {}

  // Messages of one barrier as the thesis counts them for MPICH's butterfly, eq. 6.14.
  Work work() const override {
    int power = 1;
    int steps = 0;
    while (2 * power <= communicator_.size()) {
      power *= 2;
      ++steps;
    }
    return {.messages = 2.0 * (steps * power / 2.0 + communicator_.size() - power)};
  }

  void run(Repetition& repetition) override {
    clock_ = &repetition.clock();
    repetition.time([&] { MPI_Barrier(communicator_.handle()); });
  }

  // One rank comes late: nobody may leave before it has come.
  Check verify(std::uint64_t seed) override {
    const int late = static_cast<int>(seed % communicator_.size());
    if (communicator_.rank() == late) usleep(static_cast<useconds_t>(delay_s * 1e6));
    double came_s = clock_->now();
    MPI_Barrier(communicator_.handle());
    const double left_s = clock_->now();
    MPI_Bcast(&came_s, 1, MPI_DOUBLE, late, communicator_.handle());
    const bool early = left_s < came_s - delay_s / 2;
    return {1, early ? "left the barrier " + std::to_string((came_s - left_s) * 1e6) + " us before rank " +
                           std::to_string(late) + " came"
                     : ""};
  }

 private:
  const Communicator& communicator_;
  const GlobalClock* clock_ = nullptr;
};

const Registration registration{{
    .name = "mpi.barrier",
    .summary = "barrier: from the common start to the last exit",
    .minimum_ranks = 2,
    .definition = Definition::global,
    .metrics = {seconds("time_s")},
    .sweeps = {{"baseline", "ranks=powers"}},
    .make = [](const Parameters&, const Communicator& communicator) -> std::unique_ptr<Benchmark> {
      return std::make_unique<Barrier>(communicator);
    },
}};

}  // namespace
}  // namespace scope
