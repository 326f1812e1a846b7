#include "transports/shared_library.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "unavailable.hpp"

namespace scope {
namespace {

[[noreturn]] void fail_to_load() {
  const char* reason = dlerror();
  throw Unavailable(reason != nullptr ? reason : "a shared library cannot be loaded");
}

// RTLD_DEEPBIND: its own functions precede those of the same name in MPI's copy under another name. The
// sanitizer forbids the flag, and has no such copy.
#ifdef __SANITIZE_ADDRESS__
constexpr int own_names_first = 0;
#else
constexpr int own_names_first = RTLD_DEEPBIND;
#endif

}  // namespace

std::string library_named_by(const char* variable, const char* usual) {
  const char* asked = std::getenv(variable);
  return asked != nullptr && *asked != '\0' ? asked : usual;
}

SharedLibrary::SharedLibrary(const char* soname, const char* path)
    : handle_(dlopen(soname, RTLD_NOW | RTLD_NOLOAD)) {
  if (handle_ == nullptr) handle_ = dlopen(path, RTLD_NOW | RTLD_LOCAL | own_names_first);
  if (handle_ == nullptr) fail_to_load();
}

SharedLibrary::Symbol SharedLibrary::operator[](const char* name) const {
  void* const address = dlsym(handle_, name);
  if (address == nullptr) fail_to_load();
  return {address};
}

}  // namespace scope
