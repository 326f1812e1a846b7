// Doubles that processes of one host pass to each other through shared memory.
#pragma once

#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "mpi/communicator.hpp"
#include "mpi/shared_segments.hpp"

namespace scope {

// The largest room of all processes, from which each computes the positions of the others' slots.
inline std::size_t common(std::size_t room, MPI_Comm communicator) {
  auto largest = static_cast<std::int64_t>(room);
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_INT64_T, MPI_MAX, communicator);
  return static_cast<std::size_t>(largest);
}

// For every process of `all`, its rank in `host` or MPI_UNDEFINED.
inline std::vector<int> places_in(const Communicator& host, MPI_Comm all) {
  MPI_Group from = MPI_GROUP_NULL;
  MPI_Group to = MPI_GROUP_NULL;
  MPI_Comm_group(all, &from);
  MPI_Comm_group(host.handle(), &to);
  int size = 0;
  MPI_Group_size(from, &size);
  std::vector<int> ranks(size);
  std::vector<int> places(size);
  std::iota(ranks.begin(), ranks.end(), 0);
  MPI_Group_translate_ranks(from, size, ranks.data(), to, places.data());
  MPI_Group_free(&from);
  MPI_Group_free(&to);
  return places;
}

// Slots that every process fills for others in one exchange after another. The slots of one exchange are in one
// half of the memory, and those of the next exchange in the other half: a process fills a half again only after
// messages in the exchange in between told it that the others have read the old contents. Therefore a process that
// reads slots of another must also send to it in every exchange.
class SharedSlots {
 public:
  // Collective over `communicator`. `room`: number of doubles in this process's largest slot.
  SharedSlots(MPI_Comm communicator, int slots, std::size_t room)
      : SharedSlots(Communicator::on_this_host(communicator), communicator, slots, room) {}

  // Whether a process of the communicator is on this host.
  bool reaches(int rank) const { return rank >= 0 && places_[rank] != MPI_UNDEFINED; }
  // Begins the next exchange.
  void turn() { half_ = 1 - half_; }
  // This process's slot, to be filled.
  std::span<double> own(int slot) const { return slot_of(place_, slot); }
  // The contents of a slot of a process of the communicator.
  const double* of(int rank, int slot) const { return slot_of(places_[rank], slot).data(); }
  // To be called between filling and the message that announces it, and between that message and reading.
  void synchronize() const { segments_.synchronize(); }

 private:
  SharedSlots(const Communicator& host, MPI_Comm all, int slots, std::size_t room)
      : slots_(slots),
        room_(common(room, all)),
        place_(host.rank()),
        places_(places_in(host, all)),
        segments_(host, static_cast<std::int64_t>(2 * slots * room_ * sizeof(double))) {
    for (int rank = 0; rank < host.size(); ++rank)
      begins_.push_back(reinterpret_cast<double*>(segments_.of(rank).data()));
  }
  std::span<double> slot_of(int place, int slot) const {
    return {begins_[place] + static_cast<std::size_t>(half_ * slots_ + slot) * room_, room_};
  }

  int slots_;
  std::size_t room_;
  int place_;
  int half_ = 0;
  std::vector<int> places_;  // ranks on this host, for every process of the communicator
  SharedSegments segments_;
  std::vector<double*> begins_;  // beginnings of the segments of this host's processes
};

}  // namespace scope
