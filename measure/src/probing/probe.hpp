// Answers questions about the paths between ranks, one line at a time, until the input ends.
//
// Rank 0 reads commands from standard input, one per line, and answers each with one JSON object on a line of
// standard output; after the line `end`, or the end of the input, all ranks end.
//   transfers SECONDS NAP_US FROM TO CHUNK_BYTES WINDOW [FROM TO CHUNK_BYTES WINDOW]...
// streams that start together; the answer lists the delivered bytes and the seconds of each
//   loaded SECONDS NAP_US FROM TO [FROM TO CHUNK_BYTES WINDOW BYTES_PER_S]...
// the same with streams of limited rates, and simultaneous round trips of one byte between the first two ranks;
// the answer also lists half of each round trip
//   latency FROM TO REPETITIONS
// round trips of an empty message; the answer lists half of each
// The first line of output lists the host of every rank.
#pragma once

#include "faults/faults.hpp"
#include "mpi/communicator.hpp"

namespace scope {

// Returns the program's exit code. Collective.
int answer_questions(const Communicator& world, const Faults& faults);

}  // namespace scope
