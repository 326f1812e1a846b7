// One lock for all objects of a domain. It costs nothing where the program promised to use a domain from one
// thread at a time.
#pragma once

#include <mutex>

namespace scope::provider {

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

}  // namespace scope::provider
