// Surfaces of blocks that neighbours on one host pass through memory that they share.
#pragma once

#include <span>
#include <vector>

#include "mpi/communicator.hpp"
#include "mpi/shared_segments.hpp"

namespace scope::cfd {

// Surfaces of one exchange lie in one half of the memory, those of the next one in the other half. A process stores
// into a half only after it has heard, in the exchange between, that its neighbours have read what was there.
class SharedSurfaces {
 public:
  // Collective. `surfaces`: of each process, which exchanges them all at once; `room`: doubles of the largest one of
  // this process.
  SharedSurfaces(const Communicator& communicator, int surfaces, std::size_t room);

  // Whether a process of the communicator is on this host.
  bool reaches(int rank) const { return rank >= 0 && places_[rank] != MPI_UNDEFINED; }
  // Begins the next exchange.
  void turn() { half_ = 1 - half_; }
  // Where this process stores a surface.
  std::span<double> own(int surface) const { return surface_of(place_, surface); }
  // What a process of the communicator has stored.
  const double* of(int rank, int surface) const { return surface_of(places_[rank], surface).data(); }
  // Between stores and the message that announces them, and between that message and loads.
  void synchronise() const { segments_.synchronise(); }

 private:
  SharedSurfaces(const Communicator& host, const Communicator& all, int surfaces, std::size_t room);
  std::span<double> surface_of(int place, int surface) const {
    return {begins_[place] + (half_ * surfaces_ + surface) * room_, room_};
  }

  int surfaces_;
  std::size_t room_;
  int place_;
  int half_ = 0;
  std::vector<int> places_;  // on this host, of every process of the communicator
  SharedSegments segments_;
  std::vector<double*> begins_;  // of the segments of this host's processes
};

}  // namespace scope::cfd
