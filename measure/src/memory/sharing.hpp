// One piece of memory for the large buffers of all simulated ranks, for cases whose own buffers have no room. What
// the buffers contain then means nothing: there is nothing to verify.
#pragma once

#include <cstddef>

namespace scope {

// From now on. Throws std::invalid_argument under an MPI that does not simulate.
void share_memory();
bool memory_is_shared();

// Addresses behind which there is the shared piece, over and over; nullptr where memory is not shared, and for what
// is so short that each rank has its own.
std::byte* shared_piece(std::size_t bytes);
void release_shared(std::byte* piece);

}  // namespace scope
