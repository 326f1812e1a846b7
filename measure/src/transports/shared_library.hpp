// A library that is opened when a case needs it, and never closed.
#pragma once

#include <string>

namespace scope {

// The file that a variable of the environment names, otherwise the usual one.
std::string library_named_by(const char* variable, const char* usual);

class SharedLibrary {
 public:
  // Opens the copy already in the process, loaded by the MPI library, otherwise the one at `path`: two copies
  // of a fabric library in one process interfere with each other. Throws Unavailable.
  SharedLibrary(const char* soname, const char* path);

  // Converts itself to a pointer to the function.
  struct Symbol {
    void* address;
    template <class Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };
  Symbol operator[](const char* name) const;  // throws Unavailable

 private:
  void* handle_;
};

}  // namespace scope
