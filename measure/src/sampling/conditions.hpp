// What the kernel shows of the processor and the memory of a rank at the end of a visit.
#pragma once

#include <optional>
#include <string>

namespace scope {

struct Conditions {
  std::optional<double> frequency_hz;      // of the processor that the rank runs on; virtual machines do not tell
  std::optional<double> huge_pages_bytes;  // of the rank's anonymous memory; old kernels do not tell

  // `root`: the folder that contains /proc and /sys.
  static Conditions now(const std::string& root = "");
};

}  // namespace scope
