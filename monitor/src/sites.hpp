// Call sites: return addresses, and the files that contain them. A site with more than one frame is a call path.
#pragma once

#include "tables.hpp"

namespace scope {

// Whether a call site is more than the caller's address: in Python, or if call paths are requested.
inline bool looks_further = false;

// Records sites with at most `depth` frames from now on; 0: none.
void begin_sites(int depth);
int depth_of_sites();

// The call site in the form of a caller's address: the Python line, the call path, or `caller` itself. `stack` is
// the end of the caller's frame.
const void* caller_beyond(const void* caller, const void* stack);

// The row of the call site that `caller` denotes.
u4 site_of(const void* caller);

// Records mapped programs and libraries that are not yet in the table.
void note_modules();
bool is_in_known_module(u8 address);

// Unwinds the stack from the frame in which `first` runs or to which `first` returns; inner frames are left out.
struct Walk {
  const void* first;
  int limit;
  u8 frames[frame_capacity] = {};
  u8 slots[frame_capacity] = {};  // position of each return address on the stack
  int count = 0;
  bool reached = false;
  bool slots_are_known = true;
};
void unwind(Walk& walk);

}  // namespace scope
