// The libraries that `scope build` found for this environment: links beside the program lead to them.
#pragma once

#include <string>

namespace scope {

// The path of what is called so beside the program, links resolved; empty where there is none.
std::string beside_program(const char* name);

}  // namespace scope
