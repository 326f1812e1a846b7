#include "devices/state.hpp"

#include <string>

#include "transports/shared_library.hpp"
#include "unavailable.hpp"

namespace scope::devices {
namespace {

// Types and numbers of NVML (nvml.h), as far as they are used.
using Handle = void*;
constexpr int of_multiprocessors = 1;
constexpr int of_memory = 2;
constexpr int of_the_die = 0;

constexpr int by_power = 0;
constexpr int by_heat = 1;
struct Violation {
  unsigned long long until_us;
  unsigned long long lasted_ns;
};

class Nvml {
 public:
  // Null where there is none.
  static const Nvml* opened() {
    static const std::optional<Nvml> library = []() -> std::optional<Nvml> {
      try {
        Nvml found(library_named_by("SCOPE_NVML", "libnvidia-ml.so.1"));
        int (*start)() = found.library_["nvmlInit_v2"];
        if (start() == 0) return found;
      } catch (const Unavailable&) {
      }
      return std::nullopt;
    }();
    return library ? &*library : nullptr;
  }

  // What a function tells in its last argument; nothing where it does not know, or an older driver lacks it.
  template <class Value, class... Arguments>
  std::optional<Value> told(const char* function, Arguments... arguments) const {
    try {
      int (*ask)(Arguments..., Value*) = library_[function];
      Value value{};
      if (ask(arguments..., &value) == 0) return value;
    } catch (const Unavailable&) {
    }
    return std::nullopt;
  }

 private:
  explicit Nvml(const std::string& path) : library_(path.c_str(), path.c_str()) {}
  SharedLibrary library_;
};

// Nothing where the library does not know the device.
std::optional<Handle> handle_of(const Facts& facts) {
  const Nvml* nvml = facts.pci_address.empty() ? nullptr : Nvml::opened();
  if (nvml == nullptr) return std::nullopt;
  return nvml->told<Handle>("nvmlDeviceGetHandleByPciBusId_v2", facts.pci_address.c_str());
}

std::optional<std::int64_t> slowed_ns(Handle device, int policy) {
  const auto told = Nvml::opened()->told<Violation>("nvmlDeviceGetViolationStatus", device, policy);
  return told ? std::optional(static_cast<std::int64_t>(told->lasted_ns)) : std::nullopt;
}

}  // namespace

Slowdown slowdown_of(const Facts& facts) {
  const auto device = handle_of(facts);
  if (!device) return {};
  return {slowed_ns(*device, by_power), slowed_ns(*device, by_heat)};
}

std::vector<ControlVariable> state_of(const Facts& facts, const Slowdown& before) {
  const auto device = handle_of(facts);
  if (!device) return {};
  std::vector<ControlVariable> state;
  const auto add = [&](const char* name, std::int64_t factor, const char* function, auto... arguments) {
    if (const auto number = Nvml::opened()->told<unsigned>(function, *device, arguments...))
      state.push_back({name, static_cast<std::int64_t>(*number) * factor});
  };
  constexpr std::int64_t mega = 1'000'000;
  add("device_clock_hz", mega, "nvmlDeviceGetClockInfo", of_multiprocessors);
  add("device_highest_clock_hz", mega, "nvmlDeviceGetMaxClockInfo", of_multiprocessors);
  add("device_memory_clock_hz", mega, "nvmlDeviceGetClockInfo", of_memory);
  add("device_power_mw", 1, "nvmlDeviceGetPowerUsage");
  add("device_power_limit_mw", 1, "nvmlDeviceGetEnforcedPowerLimit");
  add("device_temperature_c", 1, "nvmlDeviceGetTemperature", of_the_die);
  add("device_persistence_mode", 1, "nvmlDeviceGetPersistenceMode");
  const Slowdown now = slowdown_of(facts);
  const auto add_since = [&](const char* name, const auto& until, const auto& from) {
    if (until && from) state.push_back({name, *until - *from});
  };
  add_since("device_slowed_by_power_ns", now.by_power_ns, before.by_power_ns);
  add_since("device_slowed_by_heat_ns", now.by_heat_ns, before.by_heat_ns);
  return state;
}

}  // namespace scope::devices
