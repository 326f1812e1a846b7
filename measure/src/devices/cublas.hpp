// Matrix products by cuBLAS, NVIDIA's BLAS, which is opened at run time.
#pragma once

#include <cstdint>
#include <string>

#include "devices/device.hpp"

namespace scope::devices::cublas {

class Cublas : NotCopied {
 public:
  // Uses the context of the calling thread. `newest`: the newest major version of CUDA that the driver supports. Throws
  // Unavailable if neither the library named by $SCOPE_CUBLAS nor libcublas.so of a supported version can be used.
  Cublas(int newest, Precision precision);
  ~Cublas();

  std::string name() const;  // including its version
  // C = A B in a stream, for square matrices stored by rows. Sums have at least single precision.
  void multiply(void* stream, std::uint64_t c, std::uint64_t a, std::uint64_t b, std::int64_t n) const;

 private:
  Precision precision_;
  void* handle_ = nullptr;
};

}  // namespace scope::devices::cublas
