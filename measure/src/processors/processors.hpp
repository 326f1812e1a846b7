// The processors that processes may use: affinity, and the CPU quota of control groups (containers, batch jobs).
#pragma once

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"
#include "processors/control_groups.hpp"
#include "text/words.hpp"

namespace scope {

// From cpu.max: `100000 50000`, or `max 100000` for no limit.
inline std::optional<double> quota_v2(const std::string& group) {
  std::ifstream file(group + "/cpu.max");
  double quota_us = 0;
  double period_us = 0;
  return file >> quota_us >> period_us && period_us > 0 ? std::optional(quota_us / period_us) : std::nullopt;
}

inline std::optional<double> quota_v1(const std::string& group) {
  std::ifstream quota_file(group + "/cpu.cfs_quota_us");
  std::ifstream period_file(group + "/cpu.cfs_period_us");
  double quota_us = 0;
  double period_us = 0;
  const bool limited = quota_file >> quota_us && period_file >> period_us && quota_us > 0 && period_us > 0;
  return limited ? std::optional(quota_us / period_us) : std::nullopt;
}

// Processors on which the operating system lets this process run, in ascending order.
inline std::vector<int> allowed_processors() {
  std::vector<int> processors;
  for (int most = CPU_SETSIZE; most <= 1 << 20; most *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(most), [](cpu_set_t* s) { CPU_FREE(s); });
    const std::size_t bytes = CPU_ALLOC_SIZE(most);
    CPU_ZERO_S(bytes, set.get());
    // EINVAL if the kernel supports more processors than the set can hold.
    if (sched_getaffinity(0, bytes, set.get()) != 0) continue;
    for (int processor = 0; processor < most; ++processor)
      if (CPU_ISSET_S(processor, bytes, set.get())) processors.push_back(processor);
    break;
  }
  return processors;
}

// The allowed processors of each process on this host. Collective.
inline std::vector<std::vector<int>> allowed_on_host(const Communicator& world) {
  std::string mine = host_name();
  for (const int processor : allowed_processors()) mine += sentence({" ", processor});
  std::vector<std::vector<int>> all;
  for (const std::string& text : world.all_gather(mine)) {
    std::istringstream words(text);
    std::string host;
    words >> host;
    if (host != host_name()) continue;
    all.emplace_back(std::istream_iterator<int>(words), std::istream_iterator<int>());
  }
  return all;
}

// CPU time that control groups (version 1 or 2) grant this process, as a number of processors: the smallest limit
// from its own group up to the root; none without a limit. `root`: the directory that contains /proc and /sys.
inline std::optional<double> processor_quota(const std::string& root = "") {
  std::optional<double> smallest;
  for (const ControlGroup& group : control_groups("cpu", root)) {
    const auto quota = group.version == 2 ? quota_v2(group.folder) : quota_v1(group.folder);
    if (quota) smallest = std::min(smallest.value_or(*quota), *quota);
  }
  return smallest;
}

// Number of whole processors that processes of one host can keep busy, at least one. `allowed`: by process.
inline int usable_processors(const std::vector<std::vector<int>>& allowed, std::optional<double> quota) {
  std::set<int> all;
  for (const auto& processors : allowed) all.insert(processors.begin(), processors.end());
  const double count = static_cast<double>(all.size());
  return std::max(1, static_cast<int>(std::min(count, quota.value_or(count))));
}

// Whether some of these processes must share a processor.
inline bool must_share_processors(const std::vector<std::vector<int>>& allowed, std::optional<double> quota) {
  if (static_cast<int>(allowed.size()) > usable_processors(allowed, quota)) return true;
  // Bound processes share processors if more of them are in a set than it has processors.
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::vector<int>& room) {
    const auto inside = std::count_if(allowed.begin(), allowed.end(), [&](const std::vector<int>& processors) {
      return std::includes(room.begin(), room.end(), processors.begin(), processors.end());
    });
    return inside > static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, room.size()));
  });
}

}  // namespace scope
