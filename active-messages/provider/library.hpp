// The functions of the libfabric that loaded this provider. A process may hold several versions of libfabric,
// and each version keeps older layouts of its structures under the same names: the provider must call the
// very library that called it, and there the newest functions.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>

namespace scope::provider {

struct Library {
  fi_info* (*duplicate)(const fi_info*);  // nullptr gives an empty one
  void (*release)(fi_info*);
  std::uint32_t version;
};

// Finds the library that contains the address of `caller`; false when that is no libfabric.
bool find_library(const void* caller);
const Library& library();

}  // namespace scope::provider
