// The processors that processes may use: affinity, and the CPU quota of control groups (containers, batch jobs).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"

namespace scope {

// Processors that the operating system lets this process run on, ascending.
std::vector<int> allowed_processors();

// The processors allowed to every process on this host. Collective.
std::vector<std::vector<int>> allowed_on_host(const Communicator& world);

// Processor time that control groups (version 1 or 2) grant this process, in processors: the smallest limit
// from its own group up to the root; none without a limit. `root`: the folder that contains /proc and /sys.
std::optional<double> processor_quota(const std::string& root = "");

// Whole processors that processes of one host can keep busy together, at least one. `allowed`: of each process.
int usable_processors(const std::vector<std::vector<int>>& allowed, std::optional<double> quota);

// Whether some of these processes must share a processor.
bool must_share_processors(const std::vector<std::vector<int>>& allowed, std::optional<double> quota);

}  // namespace scope
