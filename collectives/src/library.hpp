// The MPI library's own algorithms as schedules: ranks in order, by its documented or published rules.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule.hpp"

namespace scope {

enum class Library { openmpi, mpich };

// The MPI with which this file is compiled.
Library this_library();

// The library's algorithm: a broadcast by its own decision rules; otherwise our nearest flat schedule.
Schedule library_schedule(const Problem& problem, Library library);

}  // namespace scope
