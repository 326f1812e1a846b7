// Access to user buffers as contiguous bytes, and copies of typed buffers.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

namespace scope {

// Copies between any two datatypes by a message to the own rank.
inline int through_ourselves(const void* from, int given, MPI_Datatype given_type, void* to, int taken,
                             MPI_Datatype taken_type) {
  return PMPI_Sendrecv(from, given, given_type, 0, 0, to, taken, taken_type, 0, 0, MPI_COMM_SELF,
                       MPI_STATUS_IGNORE);
}

// Packed size of one element in bytes; -1 if MPI does not know.
inline std::int64_t packed_bytes(MPI_Datatype type) {
  MPI_Count bytes = 0;
  if (PMPI_Type_size_x(type, &bytes) != MPI_SUCCESS || bytes == MPI_UNDEFINED) return -1;
  return bytes;
}

// Whether the elements are already packed: a named type without gaps, or contiguous elements of one.
inline bool is_contiguous(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  PMPI_Type_get_true_extent(type, &true_lower, &true_extent);
  const std::int64_t bytes = packed_bytes(type);
  if (lower != 0 || true_lower != 0 || extent != bytes || true_extent != bytes) return false;
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  // Absence of gaps does not suffice: blocks may be sent in a different order than in memory.
  return combiner == MPI_COMBINER_NAMED;
}

// Packs elements; MPICH refuses to pack from MPI_BOTTOM, the base of absolute addresses.
inline int pack(const void* from, std::int64_t count, MPI_Datatype type, void* to, MPI_Comm comm) {
  const std::int64_t bytes = count * packed_bytes(type);
  if (bytes == 0) return MPI_SUCCESS;
  if (is_contiguous(type)) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return MPI_SUCCESS;
  }
  if (from == MPI_BOTTOM)
    return through_ourselves(from, static_cast<int>(count), type, to, static_cast<int>(bytes), MPI_PACKED);
  int position = 0;
  return PMPI_Pack(from, static_cast<int>(count), type, to, static_cast<int>(bytes), &position, comm);
}
inline int unpack(const void* from, std::int64_t bytes, void* to, std::int64_t count, MPI_Datatype type,
                  MPI_Comm comm) {
  if (bytes == 0) return MPI_SUCCESS;
  if (is_contiguous(type)) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return MPI_SUCCESS;
  }
  if (to == MPI_BOTTOM)
    return through_ourselves(from, static_cast<int>(bytes), MPI_PACKED, to, static_cast<int>(count), type);
  int position = 0;
  return PMPI_Unpack(from, static_cast<int>(bytes), &position, to, static_cast<int>(count), type, comm);
}

// Memory for elements of a type, addressed as in MPI: the lower bound of the first element may be anywhere.
class Elements {
 public:
  Elements() = default;
  Elements(MPI_Datatype type, std::int64_t count) {
    MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
    PMPI_Type_get_extent(type, &lower, &extent);
    PMPI_Type_get_true_extent(type, &true_lower, &true_extent);
    // A negative extent puts later elements before the first one.
    const std::int64_t reach = count > 0 ? (count - 1) * extent : 0;
    const std::int64_t first = std::min<std::int64_t>(0, reach) + true_lower;
    const std::int64_t last = std::max<std::int64_t>(0, reach) + true_lower + true_extent;
    memory_ =
        std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(std::max<std::int64_t>(1, last - first)));
    address_ = memory_.get() - first;
  }
  void* address() const { return address_; }

 private:
  std::unique_ptr<char[]> memory_;
  void* address_ = nullptr;
};

// Copies elements; the gaps of `to` stay unchanged.
inline int copy_elements(const void* from, void* to, std::int64_t count, MPI_Datatype type) {
  if (count == 0 || from == to) return MPI_SUCCESS;
  if (is_contiguous(type)) {
    std::memcpy(to, from, static_cast<std::size_t>(count * packed_bytes(type)));
    return MPI_SUCCESS;
  }
  return through_ourselves(from, static_cast<int>(count), type, to, static_cast<int>(count), type);
}

}  // namespace scope
