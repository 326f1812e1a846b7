// Streams of chunks between ranks, and the throughput of each while all of them run.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "faults/faults.hpp"
#include "mpi/communicator.hpp"

namespace scope {

struct Transfer {
  int from = 0;
  int to = 0;
  std::int64_t chunk_bytes = 0;
  int window = 0;          // chunks in flight at most
  double bytes_per_s = 0;  // at which chunks are sent at most; 0: as fast as they are granted
};

struct Delivery {
  double bytes = 0;          // arrived in the middle part of the stream
  double seconds = 0;        // time in which they arrived, on the receiver's clock
  double starved = 0;        // share of the time in which the receiver waited for a processor
  std::int64_t correct = 1;  // 0: wrong contents arrived
};

// Carries out the transfers that begin or end on this rank; `start_together` returns when all ranks are
// ready. Returns the deliveries in the order of the transfers that end here. A stream lasts for `seconds`.
// Chunks in its first quarter, which fills buffers, and after its time are not counted. A receiver grants a
// window of chunks, so that streams over one link get equal shares and nothing piles up in buffers. Throws
// Overdue when a peer does not answer.
std::vector<Delivery> carry_out(const std::vector<Transfer>& transfers, double seconds,
                                std::chrono::microseconds nap, const Communicator& world, const Faults& faults,
                                const std::function<void()>& start_together);

}  // namespace scope
