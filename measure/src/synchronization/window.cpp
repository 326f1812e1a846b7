#include "synchronization/window.hpp"

#include <chrono>
#include <thread>

#include "synchronization/dissemination.hpp"

namespace scope {

double Window::wait() {
  // No rank may still be busy with the previous repetition: the margin covers only the announcement.
  dissemination_barrier(communicator_);
  double start_s = clock_.now() + margin_s_;
  broadcast(start_s);
  late_ = clock_.now() > start_s;
  while (clock_.now() < start_s) let_simulated_time_pass(start_s - clock_.now());
  if (lost_s_ > 0 && ++waits_ % 3 == 0) std::this_thread::sleep_for(std::chrono::duration<double>(lost_s_));
  return start_s;
}

// Binomial tree; the library's broadcast may be the operation under test.
void Window::broadcast(double& start_s) const {
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

}  // namespace scope
