// The control groups of this process, with the limits of containers and batch jobs.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "text/words.hpp"

namespace scope {

struct ControlGroup {
  std::string folder;
  int version;  // 1 or 2, which use different file names
};

// The group of this process for a controller such as `memory`, and its parents up to the root of the mount. In a
// container the group itself may be outside the mounted part. `root`: the directory that contains /proc and /sys.
inline std::vector<ControlGroup> control_groups(std::string_view controller, const std::string& root = "") {
  std::vector<ControlGroup> found;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:/group
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = split(line.substr(first + 1, second - first - 1), ',');
    const bool named = std::find(controllers.begin(), controllers.end(), controller) != controllers.end();
    if (!controllers.empty() && !named) continue;
    std::string mount = root + "/sys/fs/cgroup";
    if (named) (mount += '/') += controller;
    std::string group = line.substr(second + 1);
    while (group.ends_with('/')) group.pop_back();
    while (true) {
      found.push_back({mount + group, named ? 1 : 2});
      if (group.empty()) break;
      group.resize(group.rfind('/'));
    }
  }
  return found;
}

}  // namespace scope
