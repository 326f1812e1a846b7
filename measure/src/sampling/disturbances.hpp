// Counts of the operating system that show what else happened to this process and its host during a case.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

namespace scope {

// `se.nr_migrations    :     12`, `nr_migrations   :   12`
inline std::optional<std::int64_t> migrations_so_far() {
  std::ifstream file("/proc/self/sched");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (line.find("nr_migrations") == std::string::npos || colon == std::string::npos) continue;
    return std::atoll(line.c_str() + colon + 1);
  }
  return std::nullopt;
}

// `time on a processor, time waiting for one, time slices`, in ns
inline std::optional<double> waited_so_far_s() {
  std::ifstream file("/proc/self/schedstat");
  double running_ns = 0;
  double waiting_ns = 0;
  if (!(file >> running_ns >> waiting_ns)) return std::nullopt;
  return waiting_ns * 1e-9;
}

// `cpu user nice system idle iowait irq softirq steal ...`, in ticks
inline double steal_so_far_s() {
  std::ifstream file("/proc/stat");
  std::string cpu;
  double ticks[8] = {};
  file >> cpu;
  for (double& number : ticks) file >> number;
  return ticks[7] / static_cast<double>(sysconf(_SC_CLK_TCK));
}

struct Disturbances {
  std::int64_t voluntary_switches = 0;
  std::int64_t involuntary_switches = 0;
  std::int64_t major_faults = 0;
  std::optional<std::int64_t> migrations;  // to other processors; none if the kernel does not report them
  // Run-queue wait time; none if the kernel does not report it.
  std::optional<double> waited_s;
  double steal_s = 0;  // steal time, summed over the host's processors

  // Counts since the start of the system or of the process.
  static Disturbances so_far() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return {usage.ru_nvcsw,      usage.ru_nivcsw,   usage.ru_majflt,
            migrations_so_far(), waited_so_far_s(), steal_so_far_s()};
  }
  Disturbances since(const Disturbances& before) const {
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
};

}  // namespace scope
