// The functions of the libfabric that loaded this provider. A process may contain several versions of libfabric,
// and each version keeps older layouts of its structures under the same names. So the provider must call exactly
// the library that called it, and the newest version of its functions.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>

namespace scope::provider {

struct Library {
  fi_info* (*duplicate)(const fi_info*);  // nullptr returns an empty one
  void (*release)(fi_info*);
  std::uint32_t version;
};

// Finds the library that contains the address of `caller`; false if it is not libfabric.
bool find_library(const void* caller);
const Library& library();

}  // namespace scope::provider
