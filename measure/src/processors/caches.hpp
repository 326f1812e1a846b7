// The last-level caches of the host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace scope {

// Bytes of all last-level caches that serve these processors, each counted once; 0 where the system does not tell.
// `root`: the folder that contains /sys.
std::int64_t last_level_cache_bytes(const std::vector<int>& processors, const std::string& root = "");

}  // namespace scope
