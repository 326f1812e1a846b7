#include "devices/cuda.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "devices/cublas.hpp"
#include "text/words.hpp"
#include "transports/shared_library.hpp"
#include "unavailable.hpp"

namespace scope::devices::cuda {
namespace {

// The types and constants of the CUDA driver API (cuda.h) and of NVRTC (nvrtc.h) that are used here.
using Handle = void*;
using Status = int;
using Address = std::uint64_t;
using Flags = unsigned int;
using Size = std::size_t;

constexpr Flags apart_from_default_stream = 1;
constexpr Status is_reached_already = 704;
constexpr Status was_not_reached = 705;
namespace attribute {
constexpr int largest_group = 1;
constexpr int multiprocessors = 16;
constexpr int pci_bus = 33;
constexpr int pci_device = 34;
constexpr int pci_domain = 50;
constexpr int capability_major = 75;
constexpr int capability_minor = 76;
}  // namespace attribute

// No attribute reports it; the line size of all caches since 2010.
constexpr std::int64_t cache_line_bytes = 128;
constexpr int first_with_halves = 53;

struct Opened {
  explicit Opened(const std::string& path) : library(path.c_str(), path.c_str()) {}
  SharedLibrary library;
  template <class... Arguments>
  using Call = Status (*)(Arguments...);
};

// The functions of the driver with their original names; a suffix is the version of the interface.
struct Driver : Opened {
  using Opened::Opened;

  Call<Flags> cuInit = library["cuInit"];
  Call<Status, const char**> cuGetErrorName = library["cuGetErrorName"];
  Call<int*> cuDriverGetVersion = library["cuDriverGetVersion"];
  Call<int*> cuDeviceGetCount = library["cuDeviceGetCount"];
  Call<int*, int> cuDeviceGet = library["cuDeviceGet"];
  Call<char*, int, int> cuDeviceGetName = library["cuDeviceGetName"];
  Call<Size*, int> cuDeviceTotalMem = library["cuDeviceTotalMem_v2"];
  Call<int*, int, int> cuDeviceGetAttribute = library["cuDeviceGetAttribute"];
  Call<Handle*, int> cuDevicePrimaryCtxRetain = library["cuDevicePrimaryCtxRetain"];
  Call<Handle> cuCtxSetCurrent = library["cuCtxSetCurrent"];
  Call<int*, int, int> cuDeviceCanAccessPeer = library["cuDeviceCanAccessPeer"];
  Call<Handle, Flags> cuCtxEnablePeerAccess = library["cuCtxEnablePeerAccess"];
  Call<Handle> cuCtxDisablePeerAccess = library["cuCtxDisablePeerAccess"];
  Call<Size*, Size*> cuMemGetInfo = library["cuMemGetInfo_v2"];
  Call<Address*, Size> cuMemAlloc = library["cuMemAlloc_v2"];
  Call<Address> cuMemFree = library["cuMemFree_v2"];
  Call<void**, Size, Flags> cuMemHostAlloc = library["cuMemHostAlloc"];
  Call<void*> cuMemFreeHost = library["cuMemFreeHost"];
  Call<Address, const void*, Size, Handle> cuMemcpyHtoDAsync = library["cuMemcpyHtoDAsync_v2"];
  Call<void*, Address, Size, Handle> cuMemcpyDtoHAsync = library["cuMemcpyDtoHAsync_v2"];
  Call<Address, Handle, Address, Handle, Size, Handle> cuMemcpyPeerAsync = library["cuMemcpyPeerAsync"];
  Call<Handle*, const void*> cuModuleLoadData = library["cuModuleLoadData"];
  Call<Handle> cuModuleUnload = library["cuModuleUnload"];
  Call<Handle*, Handle, const char*> cuModuleGetFunction = library["cuModuleGetFunction"];
  Call<Handle, Flags, Flags, Flags, Flags, Flags, Flags, Flags, Handle, void**, void**> cuLaunchKernel =
      library["cuLaunchKernel"];
  Call<Handle*, Flags> cuStreamCreate = library["cuStreamCreate"];
  Call<Handle> cuStreamSynchronize = library["cuStreamSynchronize"];
  Call<Handle> cuStreamDestroy = library["cuStreamDestroy_v2"];
  Call<Handle*, Flags> cuEventCreate = library["cuEventCreate"];
  Call<Handle, Handle> cuEventRecord = library["cuEventRecord"];
  Call<float*, Handle, Handle> cuEventElapsedTime = library["cuEventElapsedTime"];
  Call<Handle> cuEventDestroy = library["cuEventDestroy_v2"];
};

const Driver& api() {
  static const Driver functions(library_named_by("SCOPE_CUDA", "libcuda.so.1"));
  return functions;
}

void require(Status status, const char* call) {
  if (status == 0) return;
  const char* name = nullptr;
  if (api().cuGetErrorName(status, &name) != 0 || name == nullptr)
    throw std::runtime_error(sentence({call, " failed with CUDA's error ", status}));
  throw std::runtime_error(sentence({call, " failed with ", name}));
}

// Returns the object made by a function that stores it through its first argument.
template <class Made, class... Parameters, class... Arguments>
Made made(const char* call, Status (*function)(Made*, Parameters...), Arguments... arguments) {
  Made result{};
  require(function(&result, arguments...), call);
  return result;
}

int driver_version() { return made("cuDriverGetVersion", api().cuDriverGetVersion); }

std::string version(int major, int minor) { return sentence({major, ".", minor}); }

// NVRTC, which compiles kernels.
struct Compiler : Opened {
  using Opened::Opened;

  Call<int*, int*> nvrtcVersion = library["nvrtcVersion"];
  Call<int*> nvrtcGetNumSupportedArchs = library["nvrtcGetNumSupportedArchs"];
  Call<int*> nvrtcGetSupportedArchs = library["nvrtcGetSupportedArchs"];
  const char* (*nvrtcGetErrorString)(Status) = library["nvrtcGetErrorString"];
  Call<Handle*, const char*, const char*, int, const char* const*, const char* const*> nvrtcCreateProgram =
      library["nvrtcCreateProgram"];
  Call<Handle*> nvrtcDestroyProgram = library["nvrtcDestroyProgram"];
  Call<Handle, int, const char* const*> nvrtcCompileProgram = library["nvrtcCompileProgram"];
  Call<Handle, Size*> nvrtcGetProgramLogSize = library["nvrtcGetProgramLogSize"];
  Call<Handle, char*> nvrtcGetProgramLog = library["nvrtcGetProgramLog"];
  Call<Handle, Size*> nvrtcGetPTXSize = library["nvrtcGetPTXSize"];
  Call<Handle, char*> nvrtcGetPTX = library["nvrtcGetPTX"];
  Call<Handle, Size*> nvrtcGetCUBINSize = library["nvrtcGetCUBINSize"];
  Call<Handle, char*> nvrtcGetCUBIN = library["nvrtcGetCUBIN"];

  void require(Status status, const char* call) const {
    if (status != 0) throw std::runtime_error(sentence({call, " failed: ", nvrtcGetErrorString(status)}));
  }
};

// Candidates, newest first, or only the library named by $SCOPE_NVRTC.
std::vector<std::string> compiler_paths(int newest) {
  if (const std::string asked = library_named_by("SCOPE_NVRTC", ""); !asked.empty()) return {asked};
  std::vector<std::string> paths;
  for (int major = newest; major >= 12; --major) paths.push_back(sentence({"libnvrtc.so.", major}));
  paths.push_back("libnvrtc.so.11.2");
  return paths;
}

// The newest NVRTC whose code the driver accepts. Throws Unavailable.
Compiler opened_compiler() {
  const int newest = driver_version() / 1000;
  std::string reason;
  for (const std::string& path : compiler_paths(newest)) {
    try {
      const Compiler found(path);
      int major = 0;
      int minor = 0;
      found.require(found.nvrtcVersion(&major, &minor), "nvrtcVersion");
      if (major <= newest) return found;
      throw Unavailable(sentence({path, ": compiles for CUDA ", major, ", the driver supports at most ", newest}));
    } catch (const Unavailable& missing) {
      if (reason.empty()) reason = missing.what();
    }
  }
  throw Unavailable(reason + " (a CUDA toolkit or the Python package nvidia-cuda-nvrtc-cu12 provides NVRTC)");
}

const Compiler& compiler() {
  static const Compiler opened = opened_compiler();
  return opened;
}

// The target of the compiler: the device itself or, if it is newer than the compiler, the newest older
// architecture, whose code the driver translates. Throws Unavailable.
std::string architecture(int capability) {
  int count = 0;
  compiler().require(compiler().nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> known(static_cast<std::size_t>(count));
  compiler().require(compiler().nvrtcGetSupportedArchs(known.data()), "nvrtcGetSupportedArchs");
  const auto above = std::ranges::upper_bound(known, capability);
  if (above == known.begin())
    throw Unavailable(
        sentence({"NVRTC no longer compiles for compute capability ", version(capability / 10, capability % 10)}));
  return sentence({above[-1] == capability ? "sm_" : "compute_", above[-1]});
}

// The words used in kernels. NVRTC needs a header of the toolkit for half precision; the few instructions replace it.
constexpr const char* first_lines = R"(
#define KERNEL extern "C" __global__ void
#define GLOBAL
#define LOCAL __shared__
#define ITEM ((size_t)blockIdx.x * blockDim.x + threadIdx.x)
#define ITEMS ((size_t)gridDim.x * blockDim.x)
#define GROUP blockIdx.x
#define GROUP_ITEM threadIdx.x
#define GROUP_ITEMS blockDim.x
#define GROUP_BARRIER __syncthreads()
#define ATOMIC_ADD(place, value) atomicAdd(place, value)
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
)";
constexpr const char* of_half_precision = R"(
struct half {
  unsigned short bits;
  __device__ half(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
  __device__ operator float() const {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
  }
};
struct half2 {
  unsigned int bits;
  __device__ half2(half both) : bits(both.bits * 0x10001u) {}
};
__device__ half2 fma(half2 a, half2 b, half2 c) {
  asm("fma.rn.f16x2 %0, %1, %2, %0;" : "+r"(c.bits) : "r"(a.bits), "r"(b.bits));
  return c;
}
)";

// Compiles kernels to code for the driver. Throws std::runtime_error with the compiler's message.
std::string compiled(const std::string& text, const char* name, const std::string& architecture) {
  const Compiler& nvrtc = compiler();
  Handle program = nullptr;
  nvrtc.require(nvrtc.nvrtcCreateProgram(&program, text.c_str(), name, 0, nullptr, nullptr), "nvrtcCreateProgram");
  const auto destroy = [&](Handle owned) { nvrtc.nvrtcDestroyProgram(&owned); };
  const std::unique_ptr<void, decltype(destroy)> owner(program, destroy);
  const auto result = [&](auto ask_size, auto ask, const char* call) {
    Size size = 0;
    nvrtc.require(ask_size(program, &size), call);
    std::string made(size, '\0');
    nvrtc.require(ask(program, made.data()), call);
    return made;
  };
  const std::string option = "--gpu-architecture=" + architecture;
  const char* options = option.c_str();
  if (nvrtc.nvrtcCompileProgram(program, 1, &options) != 0)
    throw std::runtime_error(
        sentence({"kernel ", name, " does not compile: ",
                  result(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, "nvrtcGetProgramLog").c_str()}));
  return architecture.starts_with("sm_") ? result(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, "nvrtcGetCUBIN")
                                         : result(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, "nvrtcGetPTX");
}

class CudaArray final : public Array {
 public:
  CudaArray(std::int64_t size, Handle of_context)
      : bytes(static_cast<Size>(size)),
        address(made("cuMemAlloc", api().cuMemAlloc, bytes)),
        context(of_context) {}
  ~CudaArray() override { api().cuMemFree(address); }
  void* pointer() const override { return reinterpret_cast<void*>(address); }

  const Size bytes;
  const Address address;
  const Handle context;
};

Address address_of(const Array& array) { return static_cast<const CudaArray&>(array).address; }

class CudaPinnedMemory final : public PinnedMemory {
 public:
  explicit CudaPinnedMemory(std::int64_t bytes)
      : bytes_(static_cast<Size>(bytes)), start_(made("cuMemHostAlloc", api().cuMemHostAlloc, bytes_, Flags{0})) {}
  ~CudaPinnedMemory() override { api().cuMemFreeHost(start_); }

  std::span<std::byte> bytes() override { return {static_cast<std::byte*>(start_), bytes_}; }

 private:
  Size bytes_;
  void* start_;
};

class CudaKernel final : public Kernel {
 public:
  CudaKernel(const std::string& code, const char* name)
      : module_(made("cuModuleLoadData", api().cuModuleLoadData, static_cast<const void*>(code.c_str())),
                api().cuModuleUnload),
        function_(made("cuModuleGetFunction", api().cuModuleGetFunction, module_.get(), name)) {}

  void set(const std::vector<Argument>& arguments) override {
    values_.resize(arguments.size());
    places_.resize(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      std::visit([&](const auto& value) { set(values_[i], value); }, arguments[i]);
      places_[i] = &values_[i];
    }
  }
  Handle function() const { return function_; }
  void** arguments() const { return const_cast<void**>(places_.data()); }

 private:
  static void set(Address& place, const Array* array) { place = address_of(*array); }
  template <class Value>
  static void set(Address& place, const Value& value) {
    std::memcpy(&place, &value, sizeof value);
  }

  std::unique_ptr<void, Status (*)(Handle)> module_;
  Handle function_;
  std::vector<Address> values_;  // no argument is larger
  std::vector<void*> places_;
};

class CudaQueue final : public Queue {
 public:
  explicit CudaQueue(bool events)
      : stream_(made("cuStreamCreate", api().cuStreamCreate, apart_from_default_stream)), timed_(events) {}
  ~CudaQueue() override {
    api().cuStreamSynchronize(stream_);
    for (const Handle event : events_) api().cuEventDestroy(event);
    api().cuStreamDestroy(stream_);
  }

  void write(const Array& to, std::span<const std::byte> from) override {
    enqueue("cuMemcpyHtoDAsync", api().cuMemcpyHtoDAsync, address_of(to), from.data(), from.size(), stream_);
  }
  void read(std::span<std::byte> to, const Array& from) override {
    enqueue("cuMemcpyDtoHAsync", api().cuMemcpyDtoHAsync, to.data(), address_of(from), to.size(), stream_);
  }
  void copy(const Array& to, const Array& from) override {
    const auto& target = static_cast<const CudaArray&>(to);
    const auto& source = static_cast<const CudaArray&>(from);
    enqueue("cuMemcpyPeerAsync", api().cuMemcpyPeerAsync, target.address, target.context, source.address,
            source.context, source.bytes, stream_);
  }
  void launch(const Kernel& kernel, std::int64_t items, std::int64_t group) override {
    const auto& of_cuda = static_cast<const CudaKernel&>(kernel);
    enqueue("cuLaunchKernel", api().cuLaunchKernel, of_cuda.function(), static_cast<Flags>(items / group), 1, 1,
            static_cast<Flags>(group), 1, 1, 0, stream_, of_cuda.arguments(), nullptr);
  }
  void multiply(const cublas::Cublas& cublas, const Array& c, const Array& a, const Array& b, std::int64_t n) {
    enqueue("cublasGemmEx", [&] {
      cublas.multiply(stream_, address_of(c), address_of(a), address_of(b), n);
      return Status{0};
    });
  }
  void flush() override {}  // the driver submits commands at once
  void finish() override { require(api().cuStreamSynchronize(stream_), "cuStreamSynchronize"); }

  double worked_s() override {
    double worked_ms = 0;
    for (std::size_t i = 0; i < recorded_; i += 2)
      worked_ms += made("cuEventElapsedTime", api().cuEventElapsedTime, events_[i], events_[i + 1]);
    recorded_ = 0;
    return worked_ms * 1e-3;
  }

 private:
  // Enqueues a command, between two events if timed; events are reused.
  template <class Function, class... Arguments>
  void enqueue(const char* call, Function function, Arguments... arguments) {
    if (!timed_) return require(function(arguments...), call);
    while (events_.size() < recorded_ + 2) events_.push_back(made("cuEventCreate", api().cuEventCreate, Flags{0}));
    require(api().cuEventRecord(events_[recorded_], stream_), "cuEventRecord");
    require(function(arguments...), call);
    require(api().cuEventRecord(events_[recorded_ + 1], stream_), "cuEventRecord");
    recorded_ += 2;
  }

  Handle stream_;
  bool timed_;
  std::vector<Handle> events_;
  std::size_t recorded_ = 0;
};

class CudaProducts final : public Products {
 public:
  explicit CudaProducts(Precision precision) : cublas_(driver_version() / 1000, precision) {}
  std::string library() const override { return cublas_.name(); }
  void enqueue(Queue& queue, const Array& c, const Array& a, const Array& b, std::int64_t n) override {
    static_cast<CudaQueue&>(queue).multiply(cublas_, c, a, b, n);
  }

 private:
  cublas::Cublas cublas_;
};

int attribute_of(int device, int what) {
  return made("cuDeviceGetAttribute", api().cuDeviceGetAttribute, what, device);
}

int capability_of(int device) {
  return 10 * attribute_of(device, attribute::capability_major) +
         attribute_of(device, attribute::capability_minor);
}

std::uint32_t place_of(int device, int what) { return static_cast<std::uint32_t>(attribute_of(device, what)); }

Facts facts_of(int device) {
  std::array<char, 256> name{};
  require(api().cuDeviceGetName(name.data(), name.size() - 1, device), "cuDeviceGetName");
  const auto memory_bytes = static_cast<std::int64_t>(made("cuDeviceTotalMem", api().cuDeviceTotalMem, device));
  return {
      .name = name.data(),
      .kind = Kind::gpu,
      .driver = "CUDA " + version(driver_version() / 1000, driver_version() % 1000 / 10),
      .pci_address = pci_address({place_of(device, attribute::pci_domain), place_of(device, attribute::pci_bus),
                                  place_of(device, attribute::pci_device), 0}),
      .memory_bytes = memory_bytes,
      .largest_array_bytes = memory_bytes,
      .compute_units = attribute_of(device, attribute::multiprocessors),
      .largest_group = attribute_of(device, attribute::largest_group),
      .cache_line_bytes = cache_line_bytes,
      .doubles_at_once = 1,
      .singles_at_once = 1,
      .halves_at_once = capability_of(device) >= first_with_halves ? 2 : 0};
}

class CudaDevice final : public Device {
 public:
  CudaDevice(int device, const std::string& architecture, Facts facts)
      : Device(std::move(facts)), device_(device), architecture_(architecture) {}

  void reach(Device& other, bool directly) override {
    auto* peer = dynamic_cast<CudaDevice*>(&other);
    if (peer == nullptr) throw Unavailable("another library drives the other device");
    const bool can = made("cuDeviceCanAccessPeer", api().cuDeviceCanAccessPeer, device_, peer->device_) != 0;
    if (directly && !can) throw Unavailable("the device cannot access the other device's memory directly");
    peer->use();
    use();
    const Status status =
        directly ? api().cuCtxEnablePeerAccess(peer->context_, 0) : api().cuCtxDisablePeerAccess(peer->context_);
    if (status != (directly ? is_reached_already : was_not_reached)) require(status, "cuCtxEnablePeerAccess");
  }
  std::int64_t free_bytes() override {
    use();
    Size free = 0;
    Size all = 0;
    require(api().cuMemGetInfo(&free, &all), "cuMemGetInfo");
    return static_cast<std::int64_t>(free);
  }
  std::unique_ptr<Array> array(std::int64_t bytes) override {
    use();
    return std::make_unique<CudaArray>(bytes, context_);
  }
  std::unique_ptr<PinnedMemory> pinned(std::int64_t bytes) override {
    use();
    return std::make_unique<CudaPinnedMemory>(bytes);
  }
  std::unique_ptr<Queue> queue(bool events) override {
    use();
    return std::make_unique<CudaQueue>(events);
  }
  std::unique_ptr<Products> products(Precision precision) override {
    use();
    return std::make_unique<CudaProducts>(precision);
  }
  std::unique_ptr<Kernel> kernel(const std::string& text, const char* name) override {
    if (!facts().no_kernels.empty()) throw Unavailable(facts().no_kernels);
    use();
    const std::string whole =
        first_lines + std::string(facts().halves_at_once > 0 ? of_half_precision : "") + text;
    return std::make_unique<CudaKernel>(compiled(whole, name, architecture_), name);
  }

 private:
  // Makes this the current device of the calling thread, as a case uses one device. The context takes hundreds of
  // megabytes of device memory, so it is created when a case first needs it.
  void use() {
    if (context_ == nullptr) context_ = made("cuDevicePrimaryCtxRetain", api().cuDevicePrimaryCtxRetain, device_);
    require(api().cuCtxSetCurrent(context_), "cuCtxSetCurrent");
  }

  int device_;
  std::string architecture_;
  Handle context_ = nullptr;
};

std::unique_ptr<Device> device_numbered(int number) {
  const int device = made("cuDeviceGet", api().cuDeviceGet, number);
  Facts facts = facts_of(device);
  std::string target;
  try {
    target = architecture(capability_of(device));
  } catch (const std::runtime_error& reason) {
    facts.no_kernels = sentence({"CUDA compiles no kernels: ", reason.what()});
  }
  return std::make_unique<CudaDevice>(device, target, std::move(facts));
}

std::vector<std::unique_ptr<Device>> listed() {
  require(api().cuInit(0), "cuInit");
  std::vector<std::unique_ptr<Device>> devices;
  const int count = made("cuDeviceGetCount", api().cuDeviceGetCount);
  for (int number = 0; number < count; ++number) devices.push_back(device_numbered(number));
  return devices;
}

}  // namespace
}  // namespace scope::devices::cuda

namespace scope::devices {

std::vector<std::unique_ptr<Device>> cuda_devices() {
  try {
    return cuda::listed();
  } catch (const std::runtime_error& reason) {  // a failing driver must not hide other ones
    throw Unavailable(reason.what());
  }
}

}  // namespace scope::devices
