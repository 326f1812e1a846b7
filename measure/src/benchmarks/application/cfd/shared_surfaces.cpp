#include "benchmarks/application/cfd/shared_surfaces.hpp"

#include <cstdint>
#include <numeric>

namespace scope::cfd {
namespace {

// The largest room of all: every process computes where the surfaces of others are.
std::size_t common(std::size_t room, const Communicator& communicator) {
  auto largest = static_cast<std::int64_t>(room);
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_INT64_T, MPI_MAX, communicator.handle());
  return static_cast<std::size_t>(largest);
}

// For every process of `all` its rank in `host`, or MPI_UNDEFINED.
std::vector<int> places_in(const Communicator& host, const Communicator& all) {
  std::vector<int> ranks(all.size());
  std::vector<int> places(all.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  MPI_Group from = MPI_GROUP_NULL;
  MPI_Group to = MPI_GROUP_NULL;
  MPI_Comm_group(all.handle(), &from);
  MPI_Comm_group(host.handle(), &to);
  MPI_Group_translate_ranks(from, all.size(), ranks.data(), to, places.data());
  MPI_Group_free(&from);
  MPI_Group_free(&to);
  return places;
}

}  // namespace

SharedSurfaces::SharedSurfaces(const Communicator& communicator, int surfaces, std::size_t room)
    : SharedSurfaces(Communicator::on_this_host(communicator), communicator, surfaces, room) {}

SharedSurfaces::SharedSurfaces(const Communicator& host, const Communicator& all, int surfaces,
                               std::size_t room)
    : surfaces_(surfaces),
      room_(common(room, all)),
      place_(host.rank()),
      places_(places_in(host, all)),
      segments_(host, static_cast<std::int64_t>(2 * surfaces_ * room_ * sizeof(double))) {
  for (int rank = 0; rank < host.size(); ++rank)
    begins_.push_back(reinterpret_cast<double*>(segments_.of(rank).data()));
}

}  // namespace scope::cfd
