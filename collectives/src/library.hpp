// What the MPI library itself would do, as schedules: ranks in order, by its documented or published rules.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule.hpp"

namespace scope {

enum class Library { openmpi, mpich };

// The one that this file is compiled with.
Library this_library();

// What it does: a broadcast by its own rules of choice; else the flat schedule of ours that is nearest to it.
Schedule library_schedule(const Problem& problem, Library library);

}  // namespace scope
