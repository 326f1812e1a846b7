// Memory that all ranks of one host read and write, with a segment for each rank.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "mpi/communicator.hpp"
#include "unavailable.hpp"

namespace scope {

// The ranks of one host; throws Unavailable on all ranks if they are on several hosts.
inline Communicator one_host(const Communicator& communicator) {
  Communicator host = Communicator::on_this_host(communicator);
  if (host.size() < communicator.size())
    throw Unavailable("ranks of different hosts cannot share memory: placement=core is needed");
  return host;
}

// A window of MPI_Win_allocate_shared. Creation and destruction are collective over `host`, the ranks of one host.
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

  // The segment of one rank, which begins at a page.
  std::span<std::byte> of(int rank) const {
    MPI_Aint size = 0;
    int unit = 0;
    std::byte* begin = nullptr;
    MPI_Win_shared_query(window_, rank, &size, &unit, &begin);
    return {begin, static_cast<std::size_t>(bytes_)};
  }
  // After this call, stores of others are visible if they were announced before, for example by a message; and our
  // earlier stores become visible to others.
  void synchronize() const { MPI_Win_sync(window_); }

 private:
  std::int64_t bytes_;
  MPI_Win window_ = MPI_WIN_NULL;
};

}  // namespace scope
