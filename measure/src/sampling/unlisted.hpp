// CPU time of processes that /proc does not list: in a lab, which numbers its own processes, of all others.
#pragma once

#include <unistd.h>

#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>
#include <string>

namespace scope {

// Since the start of the system; the files count ticks.
inline double unlisted_so_far_s() {
  std::ifstream host("/proc/stat");  // `cpu user nice system idle ...`
  std::string name;
  std::array<double, 3> busy{};
  host >> name;
  for (double& ticks : busy) host >> ticks;
  double unlisted = std::accumulate(busy.begin(), busy.end(), 0.0);
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (!std::isdigit(entry.path().filename().string().front())) continue;
    std::ifstream file(entry.path() / "stat");
    // `pid (name) state ... utime stime cutime cstime ...`: fields 3 and 14 to 17; a name may contain brackets.
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    std::istringstream fields(line.substr(line.rfind(')') + 1));  // empty if the process has gone
    for (int skipped = 3; skipped < 14; ++skipped) fields >> name;
    std::array<double, 4> used{};
    for (double& ticks : used) fields >> ticks;
    unlisted -= std::accumulate(used.begin(), used.end(), 0.0);
  }
  return unlisted / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace scope
