#pragma once

#include <cstdint>

#include "mpi/communicator.hpp"

namespace scope {

// Throws Unavailable, naming needed and available memory, where the `bytes` that each rank of this host is
// about to allocate do not fit into its memory together. Collective.
void require_memory(std::int64_t bytes, const Communicator& communicator);

}  // namespace scope
