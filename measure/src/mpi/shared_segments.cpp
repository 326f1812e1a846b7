#include "mpi/shared_segments.hpp"

#include "unavailable.hpp"

namespace scope {

Communicator one_host(const Communicator& communicator) {
  Communicator host = Communicator::on_this_host(communicator);
  if (host.size() < communicator.size())
    throw Unavailable("memory is shared by ranks of one host (placement=core)");
  return host;
}

SharedSegments::SharedSegments(const Communicator& host, std::int64_t bytes_of_each) : bytes_(bytes_of_each) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "alloc_shared_noncontig", "true");  // each segment begins at a page
  std::byte* own = nullptr;
  MPI_Win_allocate_shared(bytes_of_each, 1, info, host.handle(), &own, &window_);
  MPI_Info_free(&info);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
}

SharedSegments::~SharedSegments() {
  MPI_Win_unlock_all(window_);
  MPI_Win_free(&window_);
}

std::span<std::byte> SharedSegments::of(int rank) const {
  MPI_Aint size = 0;
  int unit = 0;
  std::byte* begin = nullptr;
  MPI_Win_shared_query(window_, rank, &size, &unit, &begin);
  return {begin, static_cast<std::size_t>(bytes_)};
}

}  // namespace scope
