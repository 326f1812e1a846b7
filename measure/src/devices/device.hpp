// Graphics processors and other devices that compute, through whatever library of this host drives them.
//
// A back end opens its library at run time and declares the few functions that it uses: the build needs no toolkit, no
// header and no second compiler. Kernels are text that the driver compiles. Their words (KERNEL, GLOBAL, ITEM, ...) are
// those of each back end's first lines, so that one text serves all.
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

// Of the matrices of a product; tf32 reads the numbers of fp32 without their last 13 bits.
enum class Precision { fp64, fp32, tf32, fp16, bf16 };

// What a device says of itself.
struct Facts {
  std::string name;
  Kind kind = Kind::gpu;
  std::string driver;       // library and version
  std::string pci_address;  // 0000:17:00.0; empty where the driver does not say
  std::int64_t memory_bytes = 0;
  std::int64_t largest_array_bytes = 0;
  std::int64_t compute_units = 1;
  std::int64_t largest_group = 1;  // items that share local memory
  std::int64_t cache_line_bytes = 0;
  // Numbers that an item computes at once, in vectors; 0 where the device has no such precision.
  int doubles_at_once = 0;
  int singles_at_once = 0;
  int halves_at_once = 0;
  // Why this library cannot compile kernels for the device; empty where it can.
  std::string no_kernels;
  // Why a library that was asked before does not drive the device; empty where none was.
  std::string passed_over;
};

// 0000:17:00.0, of domain, bus, device and function.
std::string pci_address(const std::array<std::uint32_t, 4>& place);

// Memory of a device.
class Array : NotCopied {
 public:
  virtual ~Array() = default;
  // What an MPI library may take for it; null where only the driver's own functions know it.
  virtual void* pointer() const { return nullptr; }
};

// Memory of the host that the device reaches without a copy by the driver.
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

// Commands that run one after another. None is complete before `finish`, and memory of the host must live until then.
class Queue : NotCopied {
 public:
  virtual ~Queue() = default;
  virtual void write(const Array& to, std::span<const std::byte> from) = 0;
  virtual void read(std::span<std::byte> to, const Array& from) = 0;
  // From this device to one that it was told to reach, or not.
  virtual void copy(const Array& to, const Array& from) = 0;
  // `items` run the kernel, in groups of `group`, which divides them.
  virtual void launch(const Kernel& kernel, std::int64_t items, std::int64_t group) = 0;
  virtual void flush() = 0;   // hands to the device what waits
  virtual void finish() = 0;  // waits until all is done
  // Seconds, by the device's clock, in which it worked on the commands since the last call; 0 in a queue without events.
  // After `finish`.
  virtual double worked_s() = 0;
};

// Products of matrices by the library of the device's vendor.
class Products : NotCopied {
 public:
  virtual ~Products() = default;
  virtual std::string library() const = 0;  // name and version
  // C = A B of square matrices of order n, by rows.
  virtual void enqueue(Queue& queue, const Array& c, const Array& a, const Array& b, std::int64_t n) = 0;
};

class Device {
 public:
  explicit Device(Facts facts) : facts_(std::move(facts)) {}
  virtual ~Device() = default;
  const Facts& facts() const { return facts_; }
  void take_over_from(const Device& other) { facts_.passed_over = other.facts_.no_kernels; }
  // Lets the device use memory of another one directly, or no longer. Throws Unavailable where it cannot.
  virtual void reach(Device& other, bool directly) = 0;
  virtual std::int64_t free_bytes() = 0;  // all memory where the driver does not say
  virtual std::unique_ptr<Array> array(std::int64_t bytes) = 0;
  virtual std::unique_ptr<PinnedMemory> pinned(std::int64_t bytes) = 0;
  // Throws std::runtime_error with the compiler's words, Unavailable where there is no compiler.
  virtual std::unique_ptr<Kernel> kernel(const std::string& text, const char* name) = 0;
  // `events`: the device's clock times each command. Programs have none, and they cost time.
  virtual std::unique_ptr<Queue> queue(bool events) = 0;
  // Throws Unavailable where there is no such library.
  virtual std::unique_ptr<Products> products(Precision precision) = 0;

 private:
  Facts facts_;
};

// The devices of this host, graphics processors first; they live as long as the program. A device that two libraries know
// is listed once, and the host's processors only where there is nothing else. Throws Unavailable where there are none, with the reason of each library.
const std::vector<std::unique_ptr<Device>>& all();
// How long their drivers took to start; after `all`.
std::int64_t start_ms();

}  // namespace scope::devices
