#pragma once

#include <mpi.h>

#include <utility>

namespace scope {

// A committed derived datatype, freed with its owner; pending communication keeps its type (MPI 4.0, section
// 5.1.9).
class Datatype {
 public:
  explicit Datatype(MPI_Datatype uncommitted) : handle_(uncommitted) { MPI_Type_commit(&handle_); }

  // `blocks` runs of `length` items, whose starts are `stride` items apart; the next element of this type
  // starts `extent` items after this one.
  static Datatype vector(int blocks, int length, int stride, int extent, MPI_Datatype item, MPI_Aint item_bytes) {
    MPI_Datatype runs = MPI_DATATYPE_NULL;
    MPI_Datatype resized = MPI_DATATYPE_NULL;
    MPI_Type_vector(blocks, length, stride, item, &runs);
    MPI_Type_create_resized(runs, 0, extent * item_bytes, &resized);
    MPI_Type_free(&runs);
    return Datatype(resized);
  }

  ~Datatype() {
    if (handle_ != MPI_DATATYPE_NULL) MPI_Type_free(&handle_);
  }
  Datatype(Datatype&& other) noexcept : handle_(std::exchange(other.handle_, MPI_DATATYPE_NULL)) {}
  Datatype& operator=(Datatype&&) = delete;

  MPI_Datatype handle() const { return handle_; }

 private:
  MPI_Datatype handle_;
};

}  // namespace scope
