// Clock, power and temperature of a device, as the library that manages it tells: NVML of NVIDIA's driver, opened at run time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "devices/device.hpp"
#include "mpi/control_variables.hpp"

namespace scope::devices {

// How long its clock was lowered since the driver started; empty where the library does not tell.
struct Slowdown {
  std::optional<std::int64_t> by_power_ns;
  std::optional<std::int64_t> by_heat_ns;
};
Slowdown slowdown_of(const Facts& facts);

// What the device does now, and how long it was slowed since `before`: `device_clock_hz`, `device_slowed_by_heat_ns` and so on.
// What the library does not tell is left out; nothing where libnvidia-ml.so.1, or the library that $SCOPE_NVML names, cannot
// be opened.
std::vector<ControlVariable> state_of(const Facts& facts, const Slowdown& before);

}  // namespace scope::devices
