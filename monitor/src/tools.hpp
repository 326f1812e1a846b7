// Other tools between the program and its MPI.
#pragma once

#include <string>

namespace scope {

struct Tools {
  std::string file;    // the library of another tool; empty: none
  std::string hidden;  // routines whose calls that tool gets before the monitor, each behind a space
};

// Looks who gets the calls of each routine. A tool behind the monitor gets all calls from it. One before it (a
// library preloaded first, or a part of the program) decides what the monitor sees: usually nothing.
Tools other_tools();

}  // namespace scope
