// Products of matrices by cuBLAS, the BLAS of NVIDIA, which is opened at run time.
#pragma once

#include <cstdint>
#include <string>

#include "devices/device.hpp"

namespace scope::devices::cublas {

class Cublas : NotCopied {
 public:
  // In the context of the calling thread. `newest`: the major version of CUDA that the driver takes. Throws Unavailable
  // where neither the library that $SCOPE_CUBLAS names, nor libcublas.so of that version or an older one, can be used.
  Cublas(int newest, Precision precision);
  ~Cublas();

  std::string name() const;  // with its version
  // C = A B of square matrices by rows, in a stream. Sums are never kept in less than single precision.
  void multiply(void* stream, std::uint64_t c, std::uint64_t a, std::uint64_t b, std::int64_t n) const;

 private:
  Precision precision_;
  void* handle_ = nullptr;
};

}  // namespace scope::devices::cublas
