// Users' buffers as contiguous bytes, and copies of typed ones.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

namespace scope {

// Packed bytes of one element; -1 where MPI does not know.
std::int64_t packed_bytes(MPI_Datatype type);

// The elements are packed already: a named type without gaps, or contiguous ones of it.
bool is_contiguous(MPI_Datatype type);

int pack(const void* from, std::int64_t count, MPI_Datatype type, void* to, MPI_Comm comm);
int unpack(const void* from, std::int64_t bytes, void* to, std::int64_t count, MPI_Datatype type, MPI_Comm comm);

// Memory for elements of a type, addressed as MPI does: the first one's lower bound may lie anywhere.
class Elements {
 public:
  Elements() = default;
  Elements(MPI_Datatype type, std::int64_t count);
  void* address() const { return address_; }

 private:
  std::unique_ptr<char[]> memory_;
  void* address_ = nullptr;
};

// Copies elements; the gaps of `to` stay unchanged.
int copy_elements(const void* from, void* to, std::int64_t count, MPI_Datatype type);

}  // namespace scope
