// Call sites: return addresses, and the files that contain them. With more than one frame a site is a call path.
#pragma once

#include "tables.hpp"

namespace scope {

// Whether the caller's address alone is not the call site: in Python, or where call paths are asked for.
inline bool looks_further = false;

// Sites of at most `depth` frames from now on; 0: none.
void begin_sites(int depth);
int depth_of_sites();

// What stands for the call site as the address of a caller: the line of Python, the call path, or `caller`
// itself. `stack` is where the caller's frame ends.
const void* caller_beyond(const void* caller, const void* stack);

// The row of the call site for which `caller` stands.
u4 site_of(const void* caller);

// Records mapped programs and libraries that are not yet in the table.
void note_modules();
bool is_in_known_module(u8 address);

// Unwinds the stack from the frame in which `first` runs or to which it is returned; inner frames are left out.
struct Walk {
  const void* first;
  int limit;
  u8 frames[frame_capacity] = {};
  u8 slots[frame_capacity] = {};  // where on the stack each return address lies
  int count = 0;
  bool reached = false;
  bool slots_are_known = true;
};
void unwind(Walk& walk);

}  // namespace scope
