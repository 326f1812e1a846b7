// Counts of the operating system that tell what else happened to this process and its host during a case.
#pragma once

#include <cstdint>
#include <optional>

namespace scope {

struct Disturbances {
  std::int64_t voluntary_switches = 0;
  std::int64_t involuntary_switches = 0;
  std::int64_t major_faults = 0;
  std::optional<std::int64_t> migrations;  // to another processor; none where the kernel does not tell
  // Run-queue wait time; none where the kernel does not tell.
  std::optional<double> waited_s;
  double steal_s = 0;  // that a hypervisor withheld the host's processors, over all of them

  // Since the system started or the process did.
  static Disturbances so_far();
  Disturbances since(const Disturbances& before) const;
};

}  // namespace scope
