// The control groups of this process: limits of containers and batch jobs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scope {

struct ControlGroup {
  std::string folder;
  int version;  // 1 or 2: they name their files differently
};

// The group of this process for a controller such as `memory`, and its parents up to the root of the mount. Inside
// a container the group itself may lie outside the mounted part. `root`: the folder that contains /proc and /sys.
std::vector<ControlGroup> control_groups(std::string_view controller, const std::string& root = "");

}  // namespace scope
