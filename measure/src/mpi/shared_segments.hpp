// Memory that all processes of one host read and write: a segment of each.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "mpi/communicator.hpp"
#include "unavailable.hpp"

namespace scope {

// The processes of one host; Unavailable on all of them where they are on several.
inline Communicator one_host(const Communicator& communicator) {
  Communicator host = Communicator::on_this_host(communicator);
  if (host.size() < communicator.size())
    throw Unavailable("ranks of different hosts cannot share memory: placement=core is needed");
  return host;
}

// A window of MPI_Win_allocate_shared. Collective over `host`, whose processes share a host, as is its end.
class SharedSegments : NotCopied {
 public:
  SharedSegments(const Communicator& host, std::int64_t bytes_of_each) : bytes_(bytes_of_each) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");  // each segment begins at a page
    std::byte* own = nullptr;
    MPI_Win_allocate_shared(bytes_of_each, 1, info, host.handle(), &own, &window_);
    MPI_Info_free(&info);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
  }
  ~SharedSegments() {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }

  // The segment of one process; it begins at a page.
  std::span<std::byte> of(int rank) const {
    MPI_Aint size = 0;
    int unit = 0;
    std::byte* begin = nullptr;
    MPI_Win_shared_query(window_, rank, &size, &unit, &begin);
    return {begin, static_cast<std::size_t>(bytes_)};
  }
  // What others stored before they said so, by a message for example, is seen after this; and others see what was
  // stored before it.
  void synchronize() const { MPI_Win_sync(window_); }

 private:
  std::int64_t bytes_;
  MPI_Win window_ = MPI_WIN_NULL;
};

}  // namespace scope
