// The last-level caches of the host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace scope {

// Total size of the last-level caches of these processors, each counted once; 0 if the system does not report it.
// `root`: the directory that contains /sys.
std::int64_t last_level_cache_bytes(const std::vector<int>& processors, const std::string& root = "");

}  // namespace scope
