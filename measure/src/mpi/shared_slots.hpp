// Doubles that processes of one host pass through memory that they share.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mpi/communicator.hpp"
#include "mpi/shared_segments.hpp"

namespace scope {

// Slots of every process, which it fills for others in one exchange after another. The slots of one exchange lie in one
// half of the memory, those of the next one in the other half: a process fills a half only after it has heard, in the
// exchange between, that the others have read what was there. So whoever reads slots of a process must also send to it
// in every exchange.
class SharedSlots {
 public:
  // Collective over `communicator`. `room`: doubles of the largest slot of this process.
  SharedSlots(MPI_Comm communicator, int slots, std::size_t room);

  // Whether a process of the communicator is on this host.
  bool reaches(int rank) const { return rank >= 0 && places_[rank] != MPI_UNDEFINED; }
  // Begins the next exchange.
  void turn() { half_ = 1 - half_; }
  // Where this process fills a slot.
  std::span<double> own(int slot) const { return slot_of(place_, slot); }
  // What a process of the communicator has filled in.
  const double* of(int rank, int slot) const { return slot_of(places_[rank], slot).data(); }
  // Between filling and the message that tells of it, and between that message and reading.
  void synchronize() const { segments_.synchronize(); }

 private:
  SharedSlots(const Communicator& host, MPI_Comm all, int slots, std::size_t room);
  std::span<double> slot_of(int place, int slot) const {
    return {begins_[place] + static_cast<std::size_t>(half_ * slots_ + slot) * room_, room_};
  }

  int slots_;
  std::size_t room_;
  int place_;
  int half_ = 0;
  std::vector<int> places_;  // on this host, of every process of the communicator
  SharedSegments segments_;
  std::vector<double*> begins_;  // of the segments of this host's processes
};

}  // namespace scope
