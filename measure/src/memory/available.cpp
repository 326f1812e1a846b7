#include "memory/available.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "text/words.hpp"
#include "unavailable.hpp"

namespace scope {
namespace {

std::optional<double> number_in(const char* path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? std::optional(value) : std::nullopt;  // "max" is no number: no limit
}

// Memory that the kernel can provide without swapping, limited by the control group of a container or job.
double available_bytes() {
  double bytes = number_in("/sys/fs/cgroup/memory.max").value_or(std::numeric_limits<double>::infinity());
  std::ifstream facts("/proc/meminfo");
  for (std::string word; facts >> word;) {
    double kibibytes = 0;
    if (word == "MemAvailable:" && facts >> kibibytes) bytes = std::min(bytes, kibibytes * 1024);
  }
  return bytes;
}

std::string megabytes(double bytes) {
  return sentence({static_cast<std::int64_t>(bytes / 1e6), " MB"});
}

}  // namespace

void require_memory(std::int64_t bytes, const Communicator& communicator) {
  constexpr std::int64_t unquestioned = std::int64_t{64} << 20;
  std::int64_t largest = 0;
  MPI_Allreduce(&bytes, &largest, 1, MPI_INT64_T, MPI_MAX, communicator.handle());
  if (largest <= unquestioned) return;
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(communicator.handle(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  double needed = static_cast<double>(bytes);
  MPI_Allreduce(MPI_IN_PLACE, &needed, 1, MPI_DOUBLE, MPI_SUM, host);
  MPI_Comm_free(&host);
  const double available = available_bytes();
  if (needed > available) {
    throw Unavailable("the buffers need " + megabytes(needed) +
                      " of memory on this host; available: " + megabytes(available));
  }
}

}  // namespace scope
