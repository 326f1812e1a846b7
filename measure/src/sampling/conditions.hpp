// The state of a rank's processor and memory at the end of a visit, as the kernel reports it.
#pragma once

#include <sched.h>

#include <fstream>
#include <optional>
#include <string>

namespace scope {

// The kernel reports kHz.
inline std::optional<double> read_frequency_hz(const std::string& processors) {
  std::ifstream file(processors + "/cpu" + std::to_string(sched_getcpu()) + "/cpufreq/scaling_cur_freq");
  double khz = 0;
  if (!(file >> khz)) return std::nullopt;
  return khz * 1e3;
}

// `AnonHugePages:      2048 kB`
inline std::optional<double> read_huge_pages_bytes(const std::string& sums) {
  std::ifstream file(sums);
  for (std::string word; file >> word;) {
    double kib = 0;
    if (word == "AnonHugePages:" && file >> kib) return kib * 1024;
  }
  return std::nullopt;
}

struct Conditions {
  std::optional<double> frequency_hz;      // of the rank's processor; unknown in virtual machines
  std::optional<double> huge_pages_bytes;  // of the rank's anonymous memory; unknown with old kernels

  // `root`: the directory that contains /proc and /sys.
  static Conditions now(const std::string& root = "") {
    return {read_frequency_hz(root + "/sys/devices/system/cpu"),
            read_huge_pages_bytes(root + "/proc/self/smaps_rollup")};
  }
};

}  // namespace scope
