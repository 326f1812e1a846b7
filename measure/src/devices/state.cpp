#include "devices/state.hpp"

#include <optional>

#include "transports/shared_library.hpp"
#include "unavailable.hpp"

namespace scope::devices {
namespace {

// The types and constants of NVML (nvml.h) that are used here.
using Handle = void*;
constexpr int of_multiprocessors = 1;
constexpr int of_memory = 2;
constexpr int of_the_die = 0;

constexpr int by_power = 0;
constexpr int by_heat = 1;
constexpr int corrected = 0;
constexpr int uncorrected = 1;
constexpr int since_driver_start = 0;
constexpr int ever = 1;
struct Violation {
  unsigned long long until_us;
  unsigned long long lasted_ns;
};

class Nvml {
 public:
  // Null if there is no library.
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

  // The value that a function stores through its last argument; none if it fails or an older driver lacks it.
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

// None if the library does not know the device.
std::optional<Handle> handle_of(const Facts& facts) {
  const Nvml* nvml = facts.pci_address.empty() ? nullptr : Nvml::opened();
  if (nvml == nullptr) return std::nullopt;
  return nvml->told<Handle>("nvmlDeviceGetHandleByPciBusId_v2", facts.pci_address.c_str());
}

// Adds the value of a function, times `factor`, to the numbers.
template <class Number = unsigned, class Numbers, class... Arguments>
void add(Numbers& numbers, Handle device, const char* name, std::int64_t factor, const char* function,
         Arguments... arguments) {
  if (const auto number = Nvml::opened()->told<Number>(function, device, arguments...))
    numbers.insert(numbers.end(), {name, static_cast<std::int64_t>(*number) * factor});
}

}  // namespace

Counters counters_of(const Facts& facts) {
  const auto device = handle_of(facts);
  if (!device) return {};
  Counters counters;
  const auto slowed = [&](const char* name, int policy) {
    if (const auto told = Nvml::opened()->told<Violation>("nvmlDeviceGetViolationStatus", *device, policy))
      counters[name] = static_cast<std::int64_t>(told->lasted_ns);
  };
  slowed("device_slowed_by_power_ns", by_power);
  slowed("device_slowed_by_heat_ns", by_heat);
  const auto add_errors = [&](const char* name, int kind) {
    add<unsigned long long>(counters, *device, name, 1, "nvmlDeviceGetTotalEccErrors", kind, since_driver_start);
  };
  add_errors("device_new_corrected_errors", corrected);
  add_errors("device_new_uncorrected_errors", uncorrected);
  return counters;
}

std::vector<ControlVariable> state_of(const Facts& facts, const Counters& before) {
  const auto device = handle_of(facts);
  if (!device) return {};
  std::vector<ControlVariable> state;
  constexpr std::int64_t mega = 1'000'000;
  add(state, *device, "device_clock_hz", mega, "nvmlDeviceGetClockInfo", of_multiprocessors);
  add(state, *device, "device_highest_clock_hz", mega, "nvmlDeviceGetMaxClockInfo", of_multiprocessors);
  add(state, *device, "device_memory_clock_hz", mega, "nvmlDeviceGetClockInfo", of_memory);
  add(state, *device, "device_power_mw", 1, "nvmlDeviceGetPowerUsage");
  add(state, *device, "device_power_limit_mw", 1, "nvmlDeviceGetEnforcedPowerLimit");
  add(state, *device, "device_temperature_c", 1, "nvmlDeviceGetTemperature", of_the_die);
  add(state, *device, "device_persistence_mode", 1, "nvmlDeviceGetPersistenceMode");
  add(state, *device, "device_link_generation", 1, "nvmlDeviceGetCurrPcieLinkGeneration");
  add(state, *device, "device_most_link_generation", 1, "nvmlDeviceGetMaxPcieLinkGeneration");
  add(state, *device, "device_link_lanes", 1, "nvmlDeviceGetCurrPcieLinkWidth");
  add(state, *device, "device_most_link_lanes", 1, "nvmlDeviceGetMaxPcieLinkWidth");
  const auto add_errors = [&](const char* name, int kind) {
    add<unsigned long long>(state, *device, name, 1, "nvmlDeviceGetTotalEccErrors", kind, ever);
  };
  add_errors("device_corrected_errors_ever", corrected);
  add_errors("device_uncorrected_errors_ever", uncorrected);
  for (const auto& [name, now] : counters_of(facts))
    if (const auto first = before.find(name); first != before.end()) state.push_back({name, now - first->second});
  return state;
}

}  // namespace scope::devices
