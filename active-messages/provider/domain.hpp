// The domain: the objects that its endpoints share.
#pragma once

#include <rdma/fi_domain.h>

#include <mutex>

#include "memory.hpp"
#include "objects.hpp"

namespace scope::provider {

// One lock for all objects of a domain. It does not cost anything if the program promised to use a domain from
// only one thread at a time.
class Lock {
 public:
  explicit Lock(bool needed) : needed_(needed) {}
  void lock() {
    if (needed_) mutex_.lock();
  }
  void unlock() {
    if (needed_) mutex_.unlock();
  }

 private:
  std::mutex mutex_;
  bool needed_;
};

using Guard = std::lock_guard<Lock>;

struct Domain : fid_domain {
  explicit Domain(bool several_threads) : fid_domain{}, lock(several_threads) {}

  Lock lock;
  MemoryTable memory;
};

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** result, void* context);

}  // namespace scope::provider
