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

// The broadcast of a library by its own rules of choice.
Schedule library_broadcast(const Problem& problem, Library library);

// Seconds of the library's own operation. Where its rules are not modelled, the fastest flat schedule we
// know.
double library_estimate(const Problem& problem, Library library);

}  // namespace scope
