// One piece of memory for the large buffers of all simulated ranks, for cases without space for separate buffers.
// The contents of the buffers are then meaningless and not verified.
#pragma once

#include <cstddef>

namespace scope {

// Shares memory from now on. Throws std::invalid_argument if the MPI does not simulate.
void share_memory();
bool memory_is_shared();

// Addresses to which the shared piece is mapped repeatedly; nullptr if memory is not shared, and for short
// buffers, of which each rank has its own.
std::byte* shared_piece(std::size_t bytes);
void release_shared(std::byte* piece);

}  // namespace scope
