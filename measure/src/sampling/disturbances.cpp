#include "sampling/disturbances.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace scope {
namespace {

// `se.nr_migrations    :     12`, `nr_migrations   :   12`
std::optional<std::int64_t> migrations_so_far() {
  std::ifstream file("/proc/self/sched");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (line.find("nr_migrations") == std::string::npos || colon == std::string::npos) continue;
    return std::atoll(line.c_str() + colon + 1);
  }
  return std::nullopt;
}

// `time on a processor, time waiting for one, time slices`, in ns
std::optional<double> waited_so_far_s() {
  std::ifstream file("/proc/self/schedstat");
  double running_ns = 0;
  double waiting_ns = 0;
  if (!(file >> running_ns >> waiting_ns)) return std::nullopt;
  return waiting_ns * 1e-9;
}

// `cpu user nice system idle iowait irq softirq steal ...`, in ticks
double steal_so_far_s() {
  std::ifstream file("/proc/stat");
  std::string cpu;
  double ticks[8] = {};
  file >> cpu;
  for (double& number : ticks) file >> number;
  return ticks[7] / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

Disturbances Disturbances::so_far() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {usage.ru_nvcsw,      usage.ru_nivcsw,   usage.ru_majflt,
          migrations_so_far(), waited_so_far_s(), steal_so_far_s()};
}

Disturbances Disturbances::since(const Disturbances& before) const {
  Disturbances difference{voluntary_switches - before.voluntary_switches,
                          involuntary_switches - before.involuntary_switches,
                          major_faults - before.major_faults,
                          std::nullopt,
                          std::nullopt,
                          steal_s - before.steal_s};
  if (migrations && before.migrations) difference.migrations = *migrations - *before.migrations;
  if (waited_s && before.waited_s) difference.waited_s = *waited_s - *before.waited_s;
  return difference;
}

}  // namespace scope
