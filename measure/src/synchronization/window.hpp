// A common start at an agreed time on the synchronized clock (Round-Time: Hunold and Carpen-Amarie, CLUSTER
// 2018).
#pragma once

#include "clocks/global_clock.hpp"
#include "mpi/communicator.hpp"
#include "mpi/simulated.hpp"

namespace scope {

class Window {
 public:
  Window(const Communicator& communicator, const GlobalClock& clock)
      : communicator_(communicator), clock_(clock) {}

  // Waits for the agreed start and returns it, in s on the global clock. Collective.
  double wait();

  // Whether the last announcement reached this rank too late.
  bool late() const { return late_; }

  // Injected: after every third wait this rank loses its processor for so long.
  void lose_processor(double seconds) { lost_s_ = seconds; }

  // Widens the margin of later starts. The root's argument counts.
  void widen() { margin_s_ *= 2; }

 private:
  void broadcast(double& start_s) const;

  const Communicator& communicator_;
  const GlobalClock& clock_;
  // Announcements travel slower after work that emptied the caches. Simulated waiting costs nothing.
  double margin_s_ = mpi_simulates ? 1 : 20e-6;
  bool late_ = false;
  double lost_s_ = 0;
  int waits_ = 0;
};

}  // namespace scope
