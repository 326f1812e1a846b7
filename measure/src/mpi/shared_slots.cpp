#include "mpi/shared_slots.hpp"

#include <numeric>

namespace scope {
namespace {

// The largest room of all: every process computes where the slots of others are.
std::size_t common(std::size_t room, MPI_Comm communicator) {
  auto largest = static_cast<std::int64_t>(room);
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_INT64_T, MPI_MAX, communicator);
  return static_cast<std::size_t>(largest);
}

// For every process of `all` its rank in `host`, or MPI_UNDEFINED.
std::vector<int> places_in(const Communicator& host, MPI_Comm all) {
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

}  // namespace

SharedSlots::SharedSlots(MPI_Comm communicator, int slots, std::size_t room)
    : SharedSlots(Communicator::on_this_host(communicator), communicator, slots, room) {}

SharedSlots::SharedSlots(const Communicator& host, MPI_Comm all, int slots, std::size_t room)
    : slots_(slots),
      room_(common(room, all)),
      place_(host.rank()),
      places_(places_in(host, all)),
      segments_(host, static_cast<std::int64_t>(2 * slots * room_ * sizeof(double))) {
  for (int rank = 0; rank < host.size(); ++rank)
    begins_.push_back(reinterpret_cast<double*>(segments_.of(rank).data()));
}

}  // namespace scope
