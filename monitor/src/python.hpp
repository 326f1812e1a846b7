// Call sites of Python programs. All their calls come from the same few places in the native code of the binding
// (mpi4py), so the current Python line is the call site.
//
// The interpreter can only be queried by a thread that holds its lock, which bindings release around MPI calls. So
// the lock is taken once more for each call, before the timing of the call starts.
#pragma once

#include "tables.hpp"

namespace scope {

// Whether call sites are Python lines.
inline bool in_python = false;

// Looks for an interpreter and its functions in this process. `depth`: frames of a call site.
bool find_python(int depth);

// The current Python line in the form of a caller's address; `caller` itself in a thread that does not run Python.
const void* caller_in_python(const void* caller);

// Marks an address as a Python line; addresses of the program never have this bit.
inline constexpr u8 place_bit = u8{1} << 63;
inline bool is_place(const void* caller) { return reinterpret_cast<u8>(caller) & place_bit; }

// The Python lines of this thread's last call, innermost first; returns their number.
int frames_in_python(u8* frames);

}  // namespace scope
