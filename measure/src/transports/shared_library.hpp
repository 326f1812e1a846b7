// A library that is opened when a case needs it and never closed.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "unavailable.hpp"

namespace scope {

[[noreturn]] inline void fail_to_load() {
  const char* reason = dlerror();
  throw Unavailable(reason != nullptr ? reason : "a shared library cannot be loaded");
}

// RTLD_DEEPBIND: the library's own functions precede functions of the same name in MPI's copy, which has another
// name. The sanitizer forbids the flag, but there is no such copy then.
#ifdef __SANITIZE_ADDRESS__
constexpr int own_names_first = 0;
#else
constexpr int own_names_first = RTLD_DEEPBIND;
#endif

// The file named by an environment variable, otherwise the usual one.
inline std::string library_named_by(const char* variable, const char* usual) {
  const char* asked = std::getenv(variable);
  return asked != nullptr && *asked != '\0' ? asked : usual;
}

class SharedLibrary {
 public:
  // Opens the copy that the MPI library has already loaded into the process, otherwise the one at `path`, because
  // two copies of a fabric library in one process interfere with each other. Throws Unavailable.
  SharedLibrary(const char* soname, const char* path) : handle_(dlopen(soname, RTLD_NOW | RTLD_NOLOAD)) {
    if (handle_ == nullptr) handle_ = dlopen(path, RTLD_NOW | RTLD_LOCAL | own_names_first);
    if (handle_ == nullptr) fail_to_load();
  }

  // Converts to a pointer to the function.
  struct Symbol {
    void* address;
    template <class Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };
  // Throws Unavailable if the library lacks the function.
  Symbol operator[](const char* name) const {
    void* const address = dlsym(handle_, name);
    if (address == nullptr) fail_to_load();
    return {address};
  }

 private:
  void* handle_;
};

}  // namespace scope
