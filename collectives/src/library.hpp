// The MPI library's own algorithms as schedules: ranks in order, by its documented or published rules.
#pragma once

#include <optional>
#include <string_view>

#include "schedule.hpp"

namespace scope {

// Two series of Open MPI decide differently where hosts have several ranks.
enum class Library { openmpi4, openmpi5, mpich };
inline constexpr int library_count = 3;
const char* name_of(Library library);
std::optional<Library> library_named(std::string_view name);

// The MPI with which this file is compiled.
Library this_library();

// Whether we know by which rules a library carries an operation out.
bool has_rules(Operation operation, Library library);

// The library's algorithm, by its own decision rules where we know them; otherwise our nearest flat schedule.
Schedule library_schedule(const Problem& problem, Library library);

}  // namespace scope
