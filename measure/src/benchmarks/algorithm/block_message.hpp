// Messages that carry blocks, sent and received in place within a larger matrix.
#pragma once

#include <mpi.h>

#include "benchmarks/algorithm/local_product.hpp"
#include "mpi/datatype.hpp"

namespace scope {

// The datatype of one row of a block, with the distance to the next row as its extent: the count of a block is
// its number of rows, whatever its layout. Both ends of a broadcast then have equal counts, which libraries use
// to segment it.
inline Datatype row_type(const Block& block) {
  const int columns = static_cast<int>(block.columns);
  return Datatype::vector(1, columns, columns, static_cast<int>(block.stride), MPI_DOUBLE, sizeof(double));
}

using Requests = std::vector<MPI_Request>;

inline void start_send(const Block& block, int to, int tag, MPI_Comm communicator, Requests& requests) {
  MPI_Isend(block.data, static_cast<int>(block.rows), row_type(block).handle(), to, tag, communicator,
            &requests.emplace_back());
}

inline void start_receive(const Block& block, int from, int tag, MPI_Comm communicator, Requests& requests) {
  MPI_Irecv(block.data, static_cast<int>(block.rows), row_type(block).handle(), from, tag, communicator,
            &requests.emplace_back());
}

inline void finish(Requests& requests) {
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  requests.clear();
}

// Lets the library make progress with pending messages, as it does so only inside its calls. Returns whether
// all are complete.
inline bool progress(Requests& requests) {
  int done = 0;
  MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
  return done != 0;
}

}  // namespace scope
