// GPUs and other computing devices, accessed through whichever library of this host drives them.
//
// A back end opens its library at run time and declares the few functions that it uses, so the build does not need
// toolkits, headers or a second compiler. Kernels are text that the driver compiles. Each back end defines their
// words (KERNEL, GLOBAL, ITEM, ...) in its first lines, so that the same text works for all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "memory/not_copied.hpp"

namespace scope::devices {

enum class Kind { gpu, accelerator, cpu };

// Precision of the matrices of a product; tf32 reads fp32 numbers without their last 13 bits.
enum class Precision { fp64, fp32, tf32, fp16, bf16 };

// Properties that a device reports.
struct Facts {
  std::string name;
  Kind kind = Kind::gpu;
  std::string driver;       // library and version
  std::string pci_address;  // 0000:17:00.0; empty if the driver does not report it
  std::int64_t memory_bytes = 0;
  std::int64_t largest_array_bytes = 0;
  std::int64_t compute_units = 1;
  std::int64_t largest_group = 1;  // maximum number of items that share local memory
  std::int64_t cache_line_bytes = 0;
  // Numbers that an item computes at once, in vectors; 0 if the device lacks this precision.
  int doubles_at_once = 0;
  int singles_at_once = 0;
  int halves_at_once = 0;
  // Why this library cannot compile kernels for the device; empty if it can.
  std::string no_kernels;
  // Why a library that was tried before does not drive the device; empty if there was none.
  std::string passed_over;
};

// 0000:17:00.0, from domain, bus, device and function.
std::string pci_address(const std::array<std::uint32_t, 4>& place);

// Memory of a device.
class Array : NotCopied {
 public:
  virtual ~Array() = default;
  // Address that an MPI library may accept; null if only the driver's functions can access the memory.
  virtual void* pointer() const { return nullptr; }
};

// Host memory that the device accesses without a copy by the driver.
class PinnedMemory : NotCopied {
 public:
  virtual ~PinnedMemory() = default;
  virtual std::span<std::byte> bytes() = 0;
};

using Argument = std::variant<const Array*, std::uint32_t, std::int64_t, float, double>;

// A compiled function, with the arguments of its next launch.
class Kernel : NotCopied {
 public:
  virtual ~Kernel() = default;
  virtual void set(const std::vector<Argument>& arguments) = 0;
};

// Commands that run one after another. They are complete only after `finish`, and host memory must exist until then.
class Queue : NotCopied {
 public:
  virtual ~Queue() = default;
  virtual void write(const Array& to, std::span<const std::byte> from) = 0;
  virtual void read(std::span<std::byte> to, const Array& from) = 0;
  // Copies from this device to another one, for which `reach` was called.
  virtual void copy(const Array& to, const Array& from) = 0;
  // Runs the kernel on `items` items, in groups of `group`, which must divide `items`.
  virtual void launch(const Kernel& kernel, std::int64_t items, std::int64_t group) = 0;
  virtual void flush() = 0;   // submits waiting commands to the device
  virtual void finish() = 0;  // waits until all commands are done
  // Seconds, by the device's clock, that it spent on the commands since the last call; 0 in a queue without
  // events. To be called after `finish`.
  virtual double worked_s() = 0;
};

// Matrix products by the library of the device's vendor.
class Products : NotCopied {
 public:
  virtual ~Products() = default;
  virtual std::string library() const = 0;  // name and version
  // C = A B for square matrices of order n, stored by rows.
  virtual void enqueue(Queue& queue, const Array& c, const Array& a, const Array& b, std::int64_t n) = 0;
};

class Device {
 public:
  explicit Device(Facts facts) : facts_(std::move(facts)) {}
  virtual ~Device() = default;
  const Facts& facts() const { return facts_; }
  void take_over_from(const Device& other) { facts_.passed_over = other.facts_.no_kernels; }
  // Lets the device access memory of another device, directly or not. Throws Unavailable if this is impossible.
  virtual void reach(Device& other, bool directly) = 0;
  virtual std::int64_t free_bytes() = 0;  // all memory if the driver does not report it
  virtual std::unique_ptr<Array> array(std::int64_t bytes) = 0;
  virtual std::unique_ptr<PinnedMemory> pinned(std::int64_t bytes) = 0;
  // Throws std::runtime_error with the compiler's message, or Unavailable if there is no compiler.
  virtual std::unique_ptr<Kernel> kernel(const std::string& text, const char* name) = 0;
  // `events`: whether the device's clock times each command. Programs do not use events, which cost time.
  virtual std::unique_ptr<Queue> queue(bool events) = 0;
  // Throws Unavailable if there is no such library.
  virtual std::unique_ptr<Products> products(Precision precision) = 0;

 private:
  Facts facts_;
};

// The devices of this host, GPUs first, which exist until the program ends. A device that two libraries know is listed once,
// and the host's CPUs only if there is no other device. Throws Unavailable if there are none, with the reason of each library.
const std::vector<std::unique_ptr<Device>>& all();
// Time that the drivers took to start; to be called after `all`.
std::int64_t start_ms();

}  // namespace scope::devices
