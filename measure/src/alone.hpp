// A case as a program of its own: run once, with no messages but its own, to be profiled and run in campaigns.
#pragma once

#include "mpi/communicator.hpp"
#include "options.hpp"

namespace scope {

// Prints the time of the case and whether its result is right; returns the exit code. Throws std::invalid_argument
// for an unknown benchmark or a wrong parameter, Unavailable where the case cannot run here. Collective.
int run_alone(const Options& options, const Communicator& world);

}  // namespace scope
