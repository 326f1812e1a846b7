#include "memory/sharing.hpp"

#include <mpi.h>

#include <stdexcept>

#include "mpi/simulated.hpp"

namespace scope {
namespace {

constexpr std::size_t shortest_shared = 16 << 10;

bool sharing_memory_now = false;

}  // namespace

void share_memory() {
  if (!mpi_simulates) throw std::invalid_argument("--share-memory=yes: needs an MPI that simulates");
  sharing_memory_now = true;
}

bool memory_is_shared() { return sharing_memory_now; }

std::byte* shared_piece([[maybe_unused]] std::size_t bytes) {
  if (!sharing_memory_now || bytes < shortest_shared) return nullptr;
#ifdef SCOPE_MPI_SIMULATES
  return static_cast<std::byte*>(SMPI_SHARED_MALLOC(bytes));
#else
  return nullptr;
#endif
}

void release_shared([[maybe_unused]] std::byte* piece) {
#ifdef SCOPE_MPI_SIMULATES
  SMPI_SHARED_FREE(piece);
#endif
}

}  // namespace scope
