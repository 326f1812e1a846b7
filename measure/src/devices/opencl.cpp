#include "devices/opencl.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "memory/available.hpp"
#include "text/words.hpp"
#include "transports/shared_library.hpp"
#include "unavailable.hpp"

namespace scope::devices {
namespace {

// The types and constants of the OpenCL specification (Khronos OpenCL 1.2, cl.h) that are used here.
using Handle = void*;
using Status = std::int32_t;
using Bits = std::uint64_t;
using Flag = std::uint32_t;
using Info = std::uint32_t;
using Size = std::size_t;

constexpr Bits all_devices = 0xffffffff;
constexpr Bits of_cpu = 2;
constexpr Bits of_gpu = 4;
constexpr Bits profiled = 2;
constexpr Bits read_and_write = 1;
constexpr Bits in_host_memory = 16;
constexpr Bits to_read_and_write = 3;
constexpr Info build_log = 0x1183;
constexpr Info command_start = 0x1282;
constexpr Info command_end = 0x1283;
namespace platform_info {
constexpr Info name = 0x902;
}
namespace device_info {
constexpr Info type = 0x1000;
constexpr Info compute_units = 0x1002;
constexpr Info largest_group = 0x1004;
constexpr Info largest_array = 0x1010;
constexpr Info cache_line = 0x101d;
constexpr Info memory = 0x101f;
constexpr Info name = 0x102b;
constexpr Info driver = 0x102d;
constexpr Info extensions = 0x1030;
constexpr Info singles_at_once = 0x103a;
constexpr Info doubles_at_once = 0x103b;
constexpr Info halves_at_once = 0x103c;
constexpr Info pci_bus = 0x410f;         // cl_khr_pci_bus_info: domain, bus, device, function
constexpr Info pci_bus_nvidia = 0x4008;  // cl_nv_device_attribute_query
constexpr Info pci_slot_nvidia = 0x4009;
constexpr Info pci_domain_nvidia = 0x400a;
constexpr Info free_memory_amd = 0x4039;  // cl_amd_device_attribute_query: KiB
}  // namespace device_info

std::string library_path() { return library_named_by("SCOPE_OPENCL", "libOpenCL.so.1"); }

// The functions of the library with their original names.
struct OpenCl {
  SharedLibrary library{library_path().c_str(), library_path().c_str()};

  template <class... Arguments>
  using Call = Status (*)(Arguments...);
  template <class... Arguments>
  using Make = Handle (*)(Arguments...);

  Call<Flag, Handle*, Flag*> clGetPlatformIDs = library["clGetPlatformIDs"];
  Call<Handle, Info, Size, void*, Size*> clGetPlatformInfo = library["clGetPlatformInfo"];
  Call<Handle, Bits, Flag, Handle*, Flag*> clGetDeviceIDs = library["clGetDeviceIDs"];
  Call<Handle, Info, Size, void*, Size*> clGetDeviceInfo = library["clGetDeviceInfo"];
  Make<const void*, Flag, const Handle*, void*, void*, Status*> clCreateContext = library["clCreateContext"];
  Make<Handle, Handle, Bits, Status*> clCreateCommandQueue = library["clCreateCommandQueue"];
  Call<Handle> clReleaseCommandQueue = library["clReleaseCommandQueue"];
  Make<Handle, Bits, Size, void*, Status*> clCreateBuffer = library["clCreateBuffer"];
  Call<Handle> clReleaseMemObject = library["clReleaseMemObject"];
  Call<Handle, Handle, Flag, Size, Size, const void*, Flag, const Handle*, Handle*> clEnqueueWriteBuffer =
      library["clEnqueueWriteBuffer"];
  Call<Handle, Handle, Flag, Size, Size, void*, Flag, const Handle*, Handle*> clEnqueueReadBuffer =
      library["clEnqueueReadBuffer"];
  void* (*clEnqueueMapBuffer)(Handle, Handle, Flag, Bits, Size, Size, Flag, const Handle*, Handle*,
                              Status*) = library["clEnqueueMapBuffer"];
  Call<Handle, Handle, void*, Flag, const Handle*, Handle*> clEnqueueUnmapMemObject =
      library["clEnqueueUnmapMemObject"];
  Make<Handle, Flag, const char**, const Size*, Status*> clCreateProgramWithSource =
      library["clCreateProgramWithSource"];
  Call<Handle, Flag, const Handle*, const char*, void*, void*> clBuildProgram = library["clBuildProgram"];
  Call<Handle, Handle, Info, Size, void*, Size*> clGetProgramBuildInfo = library["clGetProgramBuildInfo"];
  Call<Handle> clReleaseProgram = library["clReleaseProgram"];
  Make<Handle, const char*, Status*> clCreateKernel = library["clCreateKernel"];
  Call<Handle> clReleaseKernel = library["clReleaseKernel"];
  Call<Handle, Flag, Size, const void*> clSetKernelArg = library["clSetKernelArg"];
  Call<Handle, Handle, Flag, const Size*, const Size*, const Size*, Flag, const Handle*, Handle*>
      clEnqueueNDRangeKernel = library["clEnqueueNDRangeKernel"];
  Call<Handle> clFlush = library["clFlush"];
  Call<Handle> clFinish = library["clFinish"];
  Call<Handle, Info, Size, void*, Size*> clGetEventProfilingInfo = library["clGetEventProfilingInfo"];
  Call<Handle> clReleaseEvent = library["clReleaseEvent"];
};

const OpenCl& api() {
  static const OpenCl functions;
  return functions;
}

void require(Status status, const char* call) {
  if (status != 0) throw std::runtime_error(sentence({call, " failed with OpenCL's error ", status}));
}

// Returns the object made by a function that stores its status through its last argument.
template <class Function, class... Arguments>
auto made(const char* call, Function function, Arguments... arguments) {
  Status status = 0;
  const auto result = function(arguments..., &status);
  require(status, call);
  return result;
}

template <class Ask>
std::string text_of(Ask ask) {
  Size length = 0;
  if (ask(Size{0}, nullptr, &length) != 0 || length == 0) return "";
  std::string text(length, '\0');
  if (ask(length, text.data(), nullptr) != 0) return "";
  return text.substr(0, text.find('\0'));
}

std::string text_of(Handle device, Info what) {
  return text_of(
      [=](Size size, void* to, Size* length) { return api().clGetDeviceInfo(device, what, size, to, length); });
}

// The driver's answer, or zeros if it does not know the question.
template <class Value>
Value value_of(Handle device, Info what) {
  Value said{};
  return api().clGetDeviceInfo(device, what, sizeof said, &said, nullptr) == 0 ? said : Value{};
}

std::string place_of(Handle device, const std::string& extensions) {
  std::array<Flag, 4> place{};
  if (extensions.find("cl_khr_pci_bus_info") != std::string::npos) {
    place = value_of<std::array<Flag, 4>>(device, device_info::pci_bus);
  } else if (extensions.find("cl_nv_device_attribute_query") != std::string::npos) {
    const auto slot = value_of<Flag>(device, device_info::pci_slot_nvidia);
    place = {value_of<Flag>(device, device_info::pci_domain_nvidia),
             value_of<Flag>(device, device_info::pci_bus_nvidia), slot >> 3, slot & 7};
  } else {
    return "";
  }
  return pci_address(place);
}

Facts facts_of(Handle platform, Handle device) {
  const std::string extensions = text_of(device, device_info::extensions);
  const std::string library = text_of([=](Size size, void* to, Size* length) {
    return api().clGetPlatformInfo(platform, platform_info::name, size, to, length);
  });
  const auto type = value_of<Bits>(device, device_info::type);
  return {.name = text_of(device, device_info::name),
          .kind = (type & of_gpu) != 0   ? Kind::gpu
                  : (type & of_cpu) != 0 ? Kind::cpu
                                         : Kind::accelerator,
          .driver = library + " " + text_of(device, device_info::driver),
          .pci_address = place_of(device, extensions),
          .memory_bytes = value_of<std::int64_t>(device, device_info::memory),
          .largest_array_bytes = value_of<std::int64_t>(device, device_info::largest_array),
          .compute_units = value_of<Flag>(device, device_info::compute_units),
          .largest_group = static_cast<std::int64_t>(value_of<Size>(device, device_info::largest_group)),
          .cache_line_bytes = value_of<Flag>(device, device_info::cache_line),
          .doubles_at_once = value_of<std::int32_t>(device, device_info::doubles_at_once),
          .singles_at_once = value_of<std::int32_t>(device, device_info::singles_at_once),
          .halves_at_once = value_of<std::int32_t>(device, device_info::halves_at_once)};
}

// The words used in kernels.
constexpr const char* first_lines = R"(
#define KERNEL __kernel void
#define GLOBAL __global
#define LOCAL __local
#define ITEM get_global_id(0)
#define ITEMS get_global_size(0)
#define GROUP get_group_id(0)
#define GROUP_ITEM get_local_id(0)
#define GROUP_ITEMS get_local_size(0)
#define GROUP_BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define ATOMIC_ADD(place, value) atomic_add(place, value)
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
)";
constexpr const char* of_half_precision = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n";

class ClArray final : public Array {
 public:
  ClArray(Handle context, Bits flags, std::int64_t bytes)
      : handle(made("clCreateBuffer", api().clCreateBuffer, context, flags, static_cast<Size>(bytes),
                    static_cast<void*>(nullptr))) {}
  ~ClArray() override { api().clReleaseMemObject(handle); }

  const Handle handle;
};

Handle handle_of(const Array& array) { return static_cast<const ClArray&>(array).handle; }

class ClKernel final : public Kernel {
 public:
  ClKernel(Handle program, const char* name)
      : handle(made("clCreateKernel", api().clCreateKernel, program, name)) {}
  ~ClKernel() override { api().clReleaseKernel(handle); }

  void set(const std::vector<Argument>& arguments) override {
    for (std::size_t i = 0; i < arguments.size(); ++i)
      std::visit([&](const auto& value) { set(static_cast<Flag>(i), value); }, arguments[i]);
  }

  const Handle handle;

 private:
  void set(Flag place, const Array* array) { set(place, handle_of(*array)); }
  template <class Value>
  void set(Flag place, const Value& value) {
    require(api().clSetKernelArg(handle, place, sizeof value, &value), "clSetKernelArg");
  }
};

Unavailable no_peers() { return Unavailable("OpenCL cannot copy between devices in separate contexts"); }

class ClQueue final : public Queue {
 public:
  ClQueue(Handle context, Handle device, bool events)
      : handle_(made("clCreateCommandQueue", api().clCreateCommandQueue, context, device, events ? profiled : 0)),
        timed_(events) {}
  ~ClQueue() override {
    api().clFinish(handle_);
    forget();
    api().clReleaseCommandQueue(handle_);
  }

  void write(const Array& to, std::span<const std::byte> from) override {
    require(
        api().clEnqueueWriteBuffer(handle_, handle_of(to), 0, 0, from.size(), from.data(), 0, nullptr, event()),
        "clEnqueueWriteBuffer");
  }
  void read(std::span<std::byte> to, const Array& from) override {
    require(api().clEnqueueReadBuffer(handle_, handle_of(from), 0, 0, to.size(), to.data(), 0, nullptr, event()),
            "clEnqueueReadBuffer");
  }
  void copy(const Array& /*to*/, const Array& /*from*/) override { throw no_peers(); }
  void launch(const Kernel& kernel, std::int64_t items, std::int64_t group) override {
    const auto global = static_cast<Size>(items);
    const auto local = static_cast<Size>(group);
    require(api().clEnqueueNDRangeKernel(handle_, static_cast<const ClKernel&>(kernel).handle, 1, nullptr, &global,
                                         &local, 0, nullptr, event()),
            "clEnqueueNDRangeKernel");
  }
  void flush() override { require(api().clFlush(handle_), "clFlush"); }
  void finish() override { require(api().clFinish(handle_), "clFinish"); }

  double worked_s() override {
    std::uint64_t worked_ns = 0;
    for (const Handle event : events_)
      worked_ns += moment_ns(event, command_end) - moment_ns(event, command_start);
    forget();
    return static_cast<double>(worked_ns) * 1e-9;
  }

 private:
  Handle* event() { return timed_ ? &events_.emplace_back(nullptr) : nullptr; }
  static std::uint64_t moment_ns(Handle event, Info what) {
    std::uint64_t moment_ns = 0;
    require(api().clGetEventProfilingInfo(event, what, sizeof moment_ns, &moment_ns, nullptr),
            "clGetEventProfilingInfo");
    return moment_ns;
  }
  void forget() {
    for (const Handle event : events_)
      if (event != nullptr) api().clReleaseEvent(event);
    events_.clear();
  }

  Handle handle_;
  bool timed_;
  std::vector<Handle> events_;
};

// OpenCL 1.2 cannot pin memory, but memory that a driver allocates on the host and maps permanently is pinned.
class ClPinnedMemory final : public PinnedMemory {
 public:
  ClPinnedMemory(Handle context, Handle device, std::int64_t bytes)
      : array_(context, read_and_write | in_host_memory, bytes),
        queue_(made("clCreateCommandQueue", api().clCreateCommandQueue, context, device, Bits{0})),
        bytes_(static_cast<Size>(bytes)),
        start_(static_cast<std::byte*>(
            made("clEnqueueMapBuffer", api().clEnqueueMapBuffer, queue_, array_.handle, Flag{1}, to_read_and_write,
                 Size{0}, bytes_, Flag{0}, static_cast<const Handle*>(nullptr), static_cast<Handle*>(nullptr)))) {}
  ~ClPinnedMemory() override {
    api().clEnqueueUnmapMemObject(queue_, array_.handle, start_, 0, nullptr, nullptr);
    api().clFinish(queue_);
    api().clReleaseCommandQueue(queue_);
  }

  std::span<std::byte> bytes() override { return {start_, bytes_}; }

 private:
  ClArray array_;
  Handle queue_;
  Size bytes_;
  std::byte* start_;
};

class ClDevice final : public Device {
 public:
  ClDevice(Handle platform, Handle device) : Device(facts_of(platform, device)), device_(device) {}

  void reach(Device& /*other*/, bool /*directly*/) override { throw no_peers(); }
  std::int64_t free_bytes() override {
    const auto kibibytes = value_of<std::array<Size, 2>>(device_, device_info::free_memory_amd)[0];
    if (kibibytes != 0) return static_cast<std::int64_t>(kibibytes) << 10;
    if (facts().kind != Kind::cpu) return facts().memory_bytes;
    return static_cast<std::int64_t>(std::min(static_cast<double>(facts().memory_bytes), available_bytes()));
  }

  std::unique_ptr<Array> array(std::int64_t bytes) override {
    return std::make_unique<ClArray>(context(), read_and_write, bytes);
  }
  std::unique_ptr<PinnedMemory> pinned(std::int64_t bytes) override {
    return std::make_unique<ClPinnedMemory>(context(), device_, bytes);
  }
  std::unique_ptr<Queue> queue(bool events) override {
    return std::make_unique<ClQueue>(context(), device_, events);
  }

  std::unique_ptr<Products> products(Precision /*precision*/) override {
    throw Unavailable("no BLAS for OpenCL is known");
  }
  std::unique_ptr<Kernel> kernel(const std::string& text, const char* name) override {
    const std::string whole =
        (facts().halves_at_once > 0 ? of_half_precision : "") + std::string(first_lines) + text;
    const char* start = whole.c_str();
    const Handle program = made("clCreateProgramWithSource", api().clCreateProgramWithSource, context(), Flag{1},
                                &start, static_cast<const Size*>(nullptr));
    const auto release = [](Handle program) { api().clReleaseProgram(program); };
    const std::unique_ptr<void, decltype(release)> owner(program, release);  // kernels keep the program alive
    if (api().clBuildProgram(program, 1, &device_, "-cl-std=CL1.2", nullptr, nullptr) != 0)
      throw std::runtime_error(sentence({"kernel ", name, " does not compile: ", text_of([&](auto... place) {
                                           return api().clGetProgramBuildInfo(program, device_, build_log,
                                                                              place...);
                                         })}));
    return std::make_unique<ClKernel>(program, name);
  }

 private:
  // Created when a case first needs the device, as a context may take hundreds of megabytes of its memory.
  Handle context() {
    if (context_ == nullptr)
      context_ = made("clCreateContext", api().clCreateContext, static_cast<const void*>(nullptr), Flag{1},
                      &device_, static_cast<void*>(nullptr), static_cast<void*>(nullptr));
    return context_;
  }

  Handle device_;
  Handle context_ = nullptr;
};

// The list of a function that first returns the count. Empty for a failing platform, so that it does not hide others.
template <class List>
std::vector<Handle> listed(List list) {
  Flag count = 0;
  if (list(0, nullptr, &count) != 0) return {};
  std::vector<Handle> handles(count);
  if (count == 0 || list(count, handles.data(), nullptr) != 0) return {};
  return handles;
}

}  // namespace

std::vector<std::unique_ptr<Device>> opencl_devices() {
  std::vector<std::unique_ptr<Device>> devices;
  for (const Handle platform : listed(api().clGetPlatformIDs)) {
    const auto of_platform = [=](Flag places, Handle* to, Flag* count) {
      return api().clGetDeviceIDs(platform, all_devices, places, to, count);
    };
    for (const Handle device : listed(of_platform))
      devices.push_back(std::make_unique<ClDevice>(platform, device));
  }
  if (devices.empty()) throw Unavailable(library_path() + " knows no device");
  return devices;
}

}  // namespace scope::devices
