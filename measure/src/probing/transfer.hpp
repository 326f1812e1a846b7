// Streams of chunks between ranks, and what of them arrived while all of them ran.
#pragma once

#include <chrono>
#include <cstddef>
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
  int window = 0;  // chunks that may be under way
};

struct Delivery {
  double bytes = 0;       // that arrived in the middle of the stream
  double seconds = 0;     // in which they arrived, on the receiver's clock
  double starved = 0;     // share of the time in which the receiver waited for a processor
  std::int64_t well = 1;  // 0: something else arrived than what was sent
};

// Carries out those of the transfers that begin or end here; `start_together` returns when all ranks are
// ready. Returns the deliveries in the order of the transfers that end here. A stream lasts for `seconds`;
// what arrives in its first quarter fills buffers and is not counted, nor is what arrives after its time. A
// receiver grants a window of chunks, so that streams over one link get equal shares of it and nothing
// piles up in buffers. Throws Overdue when a peer stays away.
std::vector<Delivery> carry_out(const std::vector<Transfer>& transfers, double seconds,
                                std::chrono::microseconds nap, const Communicator& world,
                                const Faults& faults, const std::function<void()>& start_together);

}  // namespace scope
