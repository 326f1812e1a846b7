// What one mark between two phases of an algorithm costs: nanoseconds, the median of batches.
//
// usage: mpiexec -n 1 phase_cost
#include <algorithm>
#include <cstdio>
#include <vector>

#include "sampling/phases.hpp"

int main(int argc, char** argv) {
  using namespace scope;
  constexpr int marks = 3000;
  MpiEnvironment mpi(argc, argv, false);
  const Communicator world = Communicator::duplicate(MPI_COMM_WORLD);
  TickClock ticks(ClockChoice::automatic);
  ticks.calibrate(0.2);
  GlobalClock clock(world, ticks, host_name());
  Window window(world, clock);
  const Setting setting{world, ticks, clock, 0, 0, false};
  const Partners everyone = Partners::everyone();
  std::vector<double> costs_s;
  for (int batch = 0; batch < 101; ++batch) {
    const Repetition repetition(setting, window, Cadence::isolated, Synchronization::none, 1);
    Phases phases(repetition, marks);
    const Ticks start = ticks.now();
    for (int i = 0; i < marks; i += 3) {
      phases.meet(Phase::exchange, everyone);
      phases.enter(Phase::compute);
      phases.meet(Phase::exchange, everyone);
    }
    costs_s.push_back(ticks.seconds(ticks.now() - start) / marks);
  }
  std::nth_element(costs_s.begin(), costs_s.begin() + 50, costs_s.end());
  std::printf("%.2f\n", costs_s[50] * 1e9);
}
