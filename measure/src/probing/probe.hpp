// Answers questions about the paths between ranks, one line at a time, for as long as somebody asks.
//
// Rank 0 reads commands from standard input, one per line, and answers each with one JSON object on a line of
// standard output; after the line `end`, or the end of the input, all ranks end.
//   transfers SECONDS NAP_US FROM TO CHUNK_BYTES WINDOW [FROM TO CHUNK_BYTES WINDOW]...
//       streams that start together; each answers with the bytes it delivered and in how many seconds
//   latency FROM TO REPETITIONS
//       an empty message to and fro; answers with half of each round trip
// The first line, unasked, names the host of every rank.
#pragma once

#include "faults/faults.hpp"
#include "mpi/communicator.hpp"

namespace scope {

// Returns the program's exit code. Collective.
int answer_questions(const Communicator& world, const Faults& faults);

}  // namespace scope
