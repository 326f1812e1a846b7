// Devices through OpenCL 1.2, which the drivers of all vendors support.
#pragma once

#include <memory>
#include <vector>

#include "devices/device.hpp"

namespace scope::devices {

// Throws Unavailable if libOpenCL.so.1, or the library named by $SCOPE_OPENCL, cannot be opened or has no device.
std::vector<std::unique_ptr<Device>> opencl_devices();

}  // namespace scope::devices
