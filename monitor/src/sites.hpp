// Call sites: return addresses, and the files that contain them.
#pragma once

#include "tables.hpp"

namespace scope {

// The row of the call site whose innermost frame is `caller`; walks the stack where more frames are
// requested.
u4 site_of(const void* caller, int depth);

// Records mapped programs and libraries that are not yet in the table.
void note_modules();

}  // namespace scope
