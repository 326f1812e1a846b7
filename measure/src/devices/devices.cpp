#include <algorithm>
#include <chrono>
#include <cstdio>

#include "devices/cuda.hpp"
#include "devices/device.hpp"
#include "devices/opencl.hpp"
#include "unavailable.hpp"

namespace scope::devices {
namespace {

using Devices = std::vector<std::unique_ptr<Device>>;

// Adds devices of another library. It replaces the first library for a known device only if that cannot compile kernels.
void add(Devices& devices, Devices further) {
  for (auto& device : further) {
    const std::string& place = device->facts().pci_address;
    const auto known = std::ranges::find_if(
        devices, [&](const auto& device) { return !place.empty() && device->facts().pci_address == place; });
    if (known == devices.end()) {
      devices.push_back(std::move(device));
    } else if (!(*known)->facts().no_kernels.empty()) {
      device->take_over_from(**known);
      *known = std::move(device);
    }
  }
}

Devices found() {
  Devices devices;
  std::string reasons;
  for (const auto list : {cuda_devices, opencl_devices}) {
    try {
      add(devices, list());
    } catch (const Unavailable& reason) {
      reasons += (reasons.empty() ? "" : "; ") + std::string(reason.what());
    }
  }
  if (devices.empty()) throw Unavailable(reasons);
  const auto kind = [](const auto& device) { return device->facts().kind; };
  std::ranges::stable_sort(devices, {}, kind);
  if (kind(devices.front()) != Kind::cpu)
    std::erase_if(devices, [&](const auto& device) { return kind(device) == Kind::cpu; });
  return devices;
}

std::chrono::steady_clock::duration start_time{};
Devices found_in_time() {
  const auto start = std::chrono::steady_clock::now();
  Devices devices = found();
  start_time = std::chrono::steady_clock::now() - start;
  return devices;
}

}  // namespace

std::string pci_address(const std::array<std::uint32_t, 4>& place) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", place[0], place[1], place[2], place[3]);
  return text.data();
}

const std::vector<std::unique_ptr<Device>>& all() {
  // Never destroyed, because a driver may end before the program does.
  static const auto& devices = *new std::vector(found_in_time());
  return devices;
}

std::int64_t start_ms() { return std::chrono::duration_cast<std::chrono::milliseconds>(start_time).count(); }

}  // namespace scope::devices
