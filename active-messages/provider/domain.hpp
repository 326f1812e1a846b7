// The domain: what its endpoints share.
#pragma once

#include <rdma/fi_domain.h>

#include "lock.hpp"
#include "memory.hpp"
#include "objects.hpp"

namespace scope::provider {

struct Domain : fid_domain {
  explicit Domain(bool several_threads) : fid_domain{}, lock(several_threads) {}

  Lock lock;
  MemoryTable memory;
};

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** result, void* context);

}  // namespace scope::provider
