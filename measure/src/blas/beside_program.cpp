#include "blas/beside_program.hpp"

#include <unistd.h>

#include <array>
#include <climits>

namespace scope {
namespace {

std::string link_target(const std::string& link) {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink(link.c_str(), path.data(), path.size() - 1);
  return length > 0 ? std::string(path.data(), length) : "";
}

}  // namespace

std::string beside_program(const char* name) {
  const std::string program = link_target("/proc/self/exe");
  const std::string path = program.substr(0, program.rfind('/') + 1) + name;
  const std::string linked = link_target(path);
  if (!linked.empty()) return linked;
  return access(path.c_str(), F_OK) == 0 ? path : "";
}

}  // namespace scope
