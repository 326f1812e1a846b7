// Users' buffers as bytes in one piece, and copies of typed ones.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

namespace scope {

// Bytes of one element, as they travel; -1 where MPI does not know.
std::int64_t packed_bytes(MPI_Datatype type);

// The elements stand in memory as they travel: a named type without gaps, or contiguous ones of it.
bool is_contiguous(MPI_Datatype type);

int pack(const void* from, std::int64_t count, MPI_Datatype type, void* to, MPI_Comm comm);
int unpack(const void* from, std::int64_t bytes, void* to, std::int64_t count, MPI_Datatype type,
           MPI_Comm comm);

// Memory for elements of a type, addressed as MPI addresses them: the first one's lower bound may lie
// anywhere.
class Elements {
 public:
  Elements() = default;
  Elements(MPI_Datatype type, std::int64_t count);
  void* address() const { return address_; }

 private:
  std::unique_ptr<char[]> memory_;
  void* address_ = nullptr;
};

// Copies elements; what lies in the gaps of `to` stays.
int copy_elements(const void* from, void* to, std::int64_t count, MPI_Datatype type);

}  // namespace scope
