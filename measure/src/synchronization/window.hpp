// A common start at an agreed time on the synchronized clock (Round-Time: Hunold and Carpen-Amarie, CLUSTER
// 2018).
#pragma once

#include <chrono>
#include <thread>

#include "clocks/global_clock.hpp"
#include "mpi/communicator.hpp"
#include "mpi/simulated.hpp"
#include "synchronization/dissemination.hpp"

namespace scope {

class Window {
 public:
  Window(const Communicator& communicator, const GlobalClock& clock)
      : communicator_(communicator), clock_(clock) {}

  // Waits for the agreed start and returns it in s on the global clock. Collective.
  double wait() {
    // No rank may still be busy with the previous repetition, as the margin covers only the announcement.
    dissemination_barrier(communicator_);
    double start_s = clock_.now() + margin_s_;
    broadcast(start_s);
    late_ = clock_.now() > start_s;
    while (clock_.now() < start_s) let_simulated_time_pass(start_s - clock_.now());
    if (lost_s_ > 0 && ++waits_ % 3 == 0) std::this_thread::sleep_for(std::chrono::duration<double>(lost_s_));
    return start_s;
  }

  // Whether the last announcement reached this rank too late.
  bool late() const { return late_; }

  // Injected fault: after every third wait this rank loses its processor for this long.
  void lose_processor(double seconds) { lost_s_ = seconds; }

  // Widens the margin of later starts. Only the root's margin counts.
  void widen() { margin_s_ *= 2; }

 private:
  // A binomial tree, because the library's broadcast may be the operation under test.
  void broadcast(double& start_s) const {
    constexpr int tag = 3;
    const int size = communicator_.size();
    const int rank = communicator_.rank();
    int distance = 1;
    while (distance < size && (rank & distance) == 0) distance *= 2;
    if (rank != 0)
      MPI_Recv(&start_s, 1, MPI_DOUBLE, rank - distance, tag, communicator_.handle(), MPI_STATUS_IGNORE);
    for (distance /= 2; distance >= 1; distance /= 2)
      if (rank + distance < size) MPI_Send(&start_s, 1, MPI_DOUBLE, rank + distance, tag, communicator_.handle());
  }

  const Communicator& communicator_;
  const GlobalClock& clock_;
  // Announcements are slower after work that emptied the caches. Simulated waiting costs nothing.
  double margin_s_ = mpi_simulates ? 1 : 20e-6;
  bool late_ = false;
  double lost_s_ = 0;
  int waits_ = 0;
};

}  // namespace scope
