// Memory that all processes of one host read and write: a segment of each.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "mpi/communicator.hpp"

namespace scope {

// The processes of one host; Unavailable on all of them where they are on several.
Communicator one_host(const Communicator& communicator);

// A window of MPI_Win_allocate_shared. Collective over `host`, whose processes share a host, as is its end.
class SharedSegments : NotCopied {
 public:
  SharedSegments(const Communicator& host, std::int64_t bytes_of_each);
  ~SharedSegments();

  // The segment of one process; it begins at a page.
  std::span<std::byte> of(int rank) const;
  // What others stored before they said so, by a message for example, is seen after this; and others see what was
  // stored before it.
  void synchronize() const { MPI_Win_sync(window_); }

 private:
  std::int64_t bytes_;
  MPI_Win window_ = MPI_WIN_NULL;
};

}  // namespace scope
