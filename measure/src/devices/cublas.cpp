#include "devices/cublas.hpp"

#include <stdexcept>

#include "text/words.hpp"
#include "transports/shared_library.hpp"
#include "unavailable.hpp"

namespace scope::devices::cublas {
namespace {

// The types and constants of cuBLAS (cublas_api.h, library_types.h) that are used here.
using Handle = void*;
using Status = int;
using Address = std::uint64_t;

constexpr int major_version = 0;
constexpr int minor_version = 1;
constexpr int patch_level = 2;
constexpr int no_short_sums = 16;  // CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION
constexpr int as_stored = 0;       // CUBLAS_OP_N
constexpr int usual_algorithm = -1;
constexpr int oldest = 11;  // CUDA version; earlier ones have a different cublasGemmEx

// The type of the matrices, and the precision of products and sums.
struct Format {
  int type;
  int compute;
};
Format format_of(Precision precision) {
  switch (precision) {
    case Precision::fp64: return {1, 70};  // CUDA_R_64F, CUBLAS_COMPUTE_64F
    case Precision::tf32: return {0, 77};  // CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32
    case Precision::fp16: return {2, 68};  // CUDA_R_16F, CUBLAS_COMPUTE_32F
    case Precision::bf16: return {14, 68};
    default: return {0, 68};
  }
}

// The functions of the library with their original names; a suffix is the version of the interface.
struct Library {
  explicit Library(const std::string& path) : library(path.c_str(), path.c_str()) {}
  SharedLibrary library;
  template <class... Arguments>
  using Call = Status (*)(Arguments...);

  Call<int, int*> cublasGetProperty = library["cublasGetProperty"];
  const char* (*cublasGetStatusName)(Status) = library["cublasGetStatusName"];
  Call<Handle*> cublasCreate = library["cublasCreate_v2"];
  Call<Handle> cublasDestroy = library["cublasDestroy_v2"];
  Call<Handle, void*> cublasSetStream = library["cublasSetStream_v2"];
  Call<Handle, int> cublasSetMathMode = library["cublasSetMathMode"];
  Call<Handle, int, int, int, int, int, const void*, Address, int, int, Address, int, int, const void*, Address,
       int, int, int, int>
      cublasGemmEx = library["cublasGemmEx"];

  void require(Status status, const char* call) const {
    if (status != 0) throw std::runtime_error(sentence({call, " failed with ", cublasGetStatusName(status)}));
  }
  int version(int part) const {
    int number = 0;
    require(cublasGetProperty(part, &number), "cublasGetProperty");
    return number;
  }
};

// Opens the newest supported library, or only the one named by $SCOPE_CUBLAS. Throws Unavailable.
Library opened(int newest) {
  const std::string asked = library_named_by("SCOPE_CUBLAS", "");
  std::string reason;
  for (int major = newest; major >= oldest; --major) {
    const std::string path = asked.empty() ? sentence({"libcublas.so.", major}) : asked;
    try {
      const Library found(path);
      if (found.version(major_version) <= newest) return found;
      throw Unavailable(sentence(
          {path, ": needs CUDA ", found.version(major_version), ", the driver supports at most ", newest}));
    } catch (const Unavailable& missing) {
      if (reason.empty()) reason = missing.what();
    }
  }
  throw Unavailable(reason + " (a CUDA toolkit or the Python package nvidia-cublas-cu12 provides cuBLAS)");
}

// The library, which stays open until the program ends; throws with the reason if there is none.
const Library& api(int newest = 0) {
  static const Library library = opened(newest);
  return library;
}

}  // namespace

Cublas::Cublas(int newest, Precision precision) : precision_(precision) {
  const Library& library = api(newest);
  library.require(library.cublasCreate(&handle_), "cublasCreate");
  library.require(library.cublasSetMathMode(handle_, no_short_sums), "cublasSetMathMode");
}

Cublas::~Cublas() { api().cublasDestroy(handle_); }

std::string Cublas::name() const {
  return sentence({"cuBLAS ", api().version(major_version), ".", api().version(minor_version), ".",
                   api().version(patch_level)});
}

void Cublas::multiply(void* stream, Address c, Address a, Address b, std::int64_t n) const {
  const auto [type, compute] = format_of(precision_);
  const double one = 1, zero = 0;
  const float single_one = 1, single_zero = 0;
  const bool wide = precision_ == Precision::fp64;
  const auto scalar = [&](const double& in_double, const float& in_single) {
    return wide ? static_cast<const void*>(&in_double) : &in_single;
  };
  const int order = static_cast<int>(n);
  api().require(api().cublasSetStream(handle_, stream), "cublasSetStream");
  // The library stores by columns, so it computes the transposed product from B and A.
  api().require(api().cublasGemmEx(handle_, as_stored, as_stored, order, order, order, scalar(one, single_one), b,
                                   type, order, a, type, order, scalar(zero, single_zero), c, type, order, compute,
                                   usual_algorithm),
                "cublasGemmEx");
}

}  // namespace scope::devices::cublas
