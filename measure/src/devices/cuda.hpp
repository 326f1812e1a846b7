// Devices through the CUDA driver; NVRTC compiles their kernels.
#pragma once

#include <memory>
#include <vector>

#include "devices/device.hpp"

namespace scope::devices {

// Throws Unavailable if libcuda.so.1, or the library named by $SCOPE_CUDA, cannot be opened or has no device.
// Without NVRTC ($SCOPE_NVRTC, else the newest that the driver supports) devices cannot compile kernels and say why.
std::vector<std::unique_ptr<Device>> cuda_devices();

}  // namespace scope::devices
