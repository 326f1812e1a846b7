#include "capabilities.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "endpoint.hpp"

namespace scope::active_messages {
namespace {

std::string program() {
  char path[4096];
  const ssize_t bytes = ::readlink("/proc/self/exe", path, sizeof path);
  return bytes > 0 ? std::string(path, static_cast<std::size_t>(bytes)) : "PROGRAM";
}

}  // namespace

void refuse(const std::string& what, const std::vector<std::string>& capabilities) {
  const int error = errno;
  std::string text = what + ": " + std::strerror(error);
  if ((error == EPERM || error == EACCES) && !capabilities.empty()) {
    std::string list;
    for (const std::string& name : capabilities) list += (list.empty() ? "" : ",") + name;
    text += "; `sudo setcap " + list + "+ep " + program() + "` allows it to this program";
  }
  throw Error(text);
}

}  // namespace scope::active_messages
