// The libraries that `scope build` found for this environment, which are links in the program's directory.
#pragma once

#include <unistd.h>

#include <array>
#include <climits>
#include <string>

namespace scope {

inline std::string link_target(const std::string& link) {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink(link.c_str(), path.data(), path.size() - 1);
  return length > 0 ? std::string(path.data(), length) : "";
}

// The path of a file of this name in the program's directory, with links resolved; empty if there is none.
inline std::string beside_program(const char* name) {
  const std::string program = link_target("/proc/self/exe");
  const std::string path = program.substr(0, program.rfind('/') + 1) + name;
  const std::string linked = link_target(path);
  if (!linked.empty()) return linked;
  return access(path.c_str(), F_OK) == 0 ? path : "";
}

}  // namespace scope
