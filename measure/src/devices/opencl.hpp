// Devices through OpenCL 1.2, which the drivers of all vendors have.
#pragma once

#include <memory>
#include <vector>

#include "devices/device.hpp"

namespace scope::devices {

// Throws Unavailable where libOpenCL.so.1, or the library that $SCOPE_OPENCL names, cannot be opened or knows no device.
std::vector<std::unique_ptr<Device>> opencl_devices();

}  // namespace scope::devices
