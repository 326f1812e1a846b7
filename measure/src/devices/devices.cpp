#include <algorithm>

#include "devices/device.hpp"
#include "devices/opencl.hpp"

namespace scope::devices {
namespace {

std::vector<std::unique_ptr<Device>> found() {
  auto devices = opencl_devices();
  std::stable_sort(devices.begin(), devices.end(),
                   [](const auto& left, const auto& right) { return left->facts().kind < right->facts().kind; });
  return devices;
}

}  // namespace

const std::vector<std::unique_ptr<Device>>& all() {
  // Never destroyed: a driver may end before the program does.
  static const auto& devices = *new std::vector(found());
  return devices;
}

}  // namespace scope::devices
