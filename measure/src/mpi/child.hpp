// Processes spawned by the running ones, and the answer by which they prove that they started.
#pragma once

#include <mpi.h>

#include <string>

namespace scope {

// Starts `children` processes and returns the intercommunicator to them; MPI_COMM_NULL where the library
// refuses. Collective.
MPI_Comm spawn_children(int children, MPI_Comm parents);

// Asks every child for the pattern of `question` plus its rank; returns what is wrong, or nothing. Called by rank 0 of the parents.
std::string problem_of_children(MPI_Comm everyone, int children, int question);

// The main program of a child; returns its exit code.
int answer_parent();

}  // namespace scope
