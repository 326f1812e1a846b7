// Errors for calls that the kernel refused, with the command that permits them.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "endpoint.hpp"

namespace scope::active_messages {

inline std::string program() {
  char path[4096];
  const ssize_t bytes = ::readlink("/proc/self/exe", path, sizeof path);
  return bytes > 0 ? std::string(path, static_cast<std::size_t>(bytes)) : "PROGRAM";
}

// Throws Error for the last failed call (errno). If permission was missing, the text contains the command that
// gives this program the capabilities.
[[noreturn]] inline void refuse(const std::string& what, const std::vector<std::string>& capabilities) {
  const int error = errno;
  std::string text = what + ": " + std::strerror(error);
  if ((error == EPERM || error == EACCES) && !capabilities.empty()) {
    std::string list;
    for (const std::string& name : capabilities) list += (list.empty() ? "" : ",") + name;
    text += "; `sudo setcap " + list + "+ep " + program() + "` gives this program the permission";
  }
  throw Error(text);
}

}  // namespace scope::active_messages
