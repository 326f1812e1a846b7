// Pending requests and the calls that made them, so that time in waits can be attributed to operations. The number
// of slots is fixed; further requests are counted as lost.
#pragma once

#include "communicators.hpp"

namespace scope {

enum class Direction : i4 { none = 0, send = 1, receive = 2 };

struct Request {
  std::uint64_t key = 0;
  Request* next = nullptr;     // in the same bucket
  Members* members = nullptr;  // for receives, until the sender is known
  u8 bytes = 0;                // bytes sent
  u8 identity = 0;             // identity of the communicator
  u4 routine = 0;
  u4 site = no_site;
  u4 communicator_size = 0;
  int partner = -1;  // rank in MPI_COMM_WORLD
  int tag = 0;
  Direction direction = Direction::none;
  bool persistent = false;
  bool active = true;
  bool cancelled = false;
  bool message = false;  // matched by a probe, not yet received
};

// A slot for a request with this handle, other fields unchanged; nullptr if there is none. If several requests
// have one handle (libraries share it among sends that complete at once), the last is found first.
Request* add_request(std::uint64_t key);
Request* find_request(std::uint64_t key);
void remove_request(Request* request);

}  // namespace scope
