// Messages of blocks: straight from where they lie in a larger matrix, and straight to where they belong.
#pragma once

#include <mpi.h>

#include <vector>

#include "benchmarks/algorithm/local_product.hpp"

namespace scope {

// A row of a block, whose extent is the distance to the next: a block is as many of them as it has rows,
// however it lies. Both ends of a broadcast so count alike, as the libraries cut it by counts.
class RowType {
 public:
  explicit RowType(const Block& block) {
    MPI_Datatype values = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(block.columns), MPI_DOUBLE, &values);
    MPI_Type_create_resized(values, 0, block.stride * static_cast<MPI_Aint>(sizeof(double)), &type_);
    MPI_Type_commit(&type_);
    MPI_Type_free(&values);
  }
  // What is under way keeps its type (MPI 4.0, section 5.1.9).
  ~RowType() { MPI_Type_free(&type_); }
  RowType(const RowType&) = delete;
  RowType& operator=(const RowType&) = delete;

  MPI_Datatype handle() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

using Requests = std::vector<MPI_Request>;

inline void start_send(const Block& block, int to, int tag, MPI_Comm communicator, Requests& requests) {
  MPI_Isend(block.data, static_cast<int>(block.rows), RowType(block).handle(), to, tag, communicator,
            &requests.emplace_back());
}

inline void start_receive(const Block& block, int from, int tag, MPI_Comm communicator, Requests& requests) {
  MPI_Irecv(block.data, static_cast<int>(block.rows), RowType(block).handle(), from, tag, communicator,
            &requests.emplace_back());
}

inline void finish(Requests& requests) {
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  requests.clear();
}

// Lets the library go on with what is under way, which it only does inside its calls. Returns whether all is
// done.
inline bool progress(Requests& requests) {
  int done = 0;
  MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
  return done != 0;
}

}  // namespace scope
