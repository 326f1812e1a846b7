// Call sites of programs in Python. All their calls come from the same few places of the binding's native code
// (mpi4py), so the running line of Python is the call site.
//
// The interpreter answers only to a thread that holds its lock, which bindings release around MPI calls: the lock
// is taken once more for each call, before the call's time begins.
#pragma once

#include "tables.hpp"

namespace scope {

// Whether call sites are looked for in Python.
inline bool in_python = false;

// Looks for an interpreter in this process, and for its functions. `depth`: frames of a call site.
bool find_python(int depth);

// The running line of Python as the address of a caller; `caller` itself in a thread without one.
const void* caller_in_python(const void* caller);

// Whether an address is a line of Python; no address of the program has this bit.
inline constexpr u8 place_bit = u8{1} << 63;
inline bool is_place(const void* caller) { return reinterpret_cast<u8>(caller) & place_bit; }

// The lines of Python of this thread's last call, innermost first; returns their number.
int frames_in_python(u8* frames);

}  // namespace scope
