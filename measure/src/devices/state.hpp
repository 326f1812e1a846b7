// Clock, power, temperature, link and memory errors of a device, as the library that manages it tells: NVML of NVIDIA's driver,
// opened at run time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "devices/device.hpp"
#include "mpi/control_variables.hpp"

namespace scope::devices {

// What only grows while the driver is loaded, by name: how long the clock was lowered, and memory errors. What the library
// does not tell is left out.
using Counters = std::map<std::string, std::int64_t>;
Counters counters_of(const Facts& facts);

// What the device does now, and by how much each counter grew since `before`: `device_clock_hz`, `device_slowed_by_heat_ns`
// and so on. Nothing where libnvidia-ml.so.1, or the library that $SCOPE_NVML names, cannot be opened.
std::vector<ControlVariable> state_of(const Facts& facts, const Counters& before);

}  // namespace scope::devices
