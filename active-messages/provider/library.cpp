#include "library.hpp"

#include <dlfcn.h>

namespace scope::provider {
namespace {

Library found;

}  // namespace

bool find_library(const void* caller) {
  Dl_info place;
  if (dladdr(caller, &place) == 0) return false;
  // Already loaded: this only increases its reference count, so that it stays loaded as long as this provider.
  void* handle = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  const auto version = reinterpret_cast<std::uint32_t (*)()>(dlsym(handle, "fi_version"));
  found.duplicate = reinterpret_cast<decltype(found.duplicate)>(dlsym(handle, "fi_dupinfo"));
  found.release = reinterpret_cast<decltype(found.release)>(dlsym(handle, "fi_freeinfo"));
  if (version == nullptr || found.duplicate == nullptr || found.release == nullptr) return false;
  found.version = version();
  return true;
}

const Library& library() { return found; }

}  // namespace scope::provider
