// Devices through the CUDA driver; NVRTC compiles their kernels.
#pragma once

#include <memory>
#include <vector>

#include "devices/device.hpp"

namespace scope::devices {

// Throws Unavailable where libcuda.so.1, or the library that $SCOPE_CUDA names, cannot be opened or knows no device.
// Without NVRTC ($SCOPE_NVRTC, else the newest that the driver takes) the devices compile no kernels and say why.
std::vector<std::unique_ptr<Device>> cuda_devices();

}  // namespace scope::devices
