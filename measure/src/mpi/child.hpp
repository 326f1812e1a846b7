// Processes that the running ones start, and what they answer so that it can be seen that they were there.
#pragma once

#include <mpi.h>

namespace scope {

// Starts so many children and returns the communicator to them; MPI_COMM_NULL where the library refuses.
// Collective.
MPI_Comm spawn_children(int children, MPI_Comm parents);

// Asks every child for `question` plus its rank; returns how many answered rightly. Called by rank 0 of the
// parents.
int ask_children(MPI_Comm children, int question);

// What a child does with its life; returns its exit code.
int answer_parent();

}  // namespace scope
