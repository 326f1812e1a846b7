// Clock, power, temperature, link and memory errors of a device, as reported by its management library: NVML of
// NVIDIA's driver, opened at run time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "devices/device.hpp"
#include "mpi/control_variables.hpp"

namespace scope::devices {

// Counters that only grow while the driver is loaded, by name: how long the clock was lowered, and memory errors.
// Those that the library does not report are omitted.
using Counters = std::map<std::string, std::int64_t>;
Counters counters_of(const Facts& facts);

// The current state of the device, and the growth of each counter since `before`: `device_clock_hz`,
// `device_slowed_by_heat_ns` and so on. Empty if libnvidia-ml.so.1, or the library named by $SCOPE_NVML, cannot be opened.
std::vector<ControlVariable> state_of(const Facts& facts, const Counters& before);

}  // namespace scope::devices
