#include "memory/available.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

#include "memory/sharing.hpp"
#include "mpi/simulated.hpp"
#include "processors/control_groups.hpp"
#include "text/words.hpp"
#include "unavailable.hpp"

#ifdef SCOPE_MPI_SIMULATES
extern "C" int malloc_trim(std::size_t);  // SMPI's header redefines other names of <malloc.h>
#endif

namespace scope {
namespace {

// Threshold per rank; simulated ranks share one address space.
constexpr std::int64_t unquestioned = (mpi_simulates ? std::int64_t{256} << 10 : std::int64_t{64} << 20);

std::optional<double> number_in_file(const std::string& path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? std::optional(value) : std::nullopt;  // "max" is not a number and means no limit
}

// The number after a name in a file of such pairs; 0 if there is none.
double number_of(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  double value = 0;
  for (std::string word; file >> word >> value;)
    if (word == name) return value;
  return 0;
}

// The memory that a control group's limit leaves, including inactive file pages, which are released when needed.
std::optional<double> left_in(const ControlGroup& group) {
  const bool second = group.version == 2;
  const auto limit = number_in_file(group.folder + (second ? "/memory.max" : "/memory.limit_in_bytes"));
  const auto used = number_in_file(group.folder + (second ? "/memory.current" : "/memory.usage_in_bytes"));
  if (!limit) return std::nullopt;
  const double given_back =
      number_of(group.folder + "/memory.stat", second ? "inactive_file" : "total_inactive_file");
  return std::max(0.0, *limit - std::max(0.0, used.value_or(0) - given_back));
}

std::string megabytes(double bytes) { return sentence({static_cast<std::int64_t>(bytes / 1e6), " MB"}); }

// The memory that the resident-set limit of this process leaves. Linux does not enforce it; simulations set it.
double left_in_resident_set() {
  rlimit limit{};
  std::ifstream sizes("/proc/self/statm");
  double pages = 0;
  double resident_pages = 0;
  if (getrlimit(RLIMIT_RSS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || !(sizes >> pages >> resident_pages))
    return std::numeric_limits<double>::infinity();
  const auto page_bytes = static_cast<double>(sysconf(_SC_PAGESIZE));
  return std::max(0.0, static_cast<double>(limit.rlim_cur) - resident_pages * page_bytes);
}

// The memory that the ranks of this host may still use.
double available_here() {
  return mpi_simulates ? std::min(available_bytes(), left_in_resident_set()) : available_bytes();
}

[[noreturn]] void refuse(double needed, double available) {
  throw Unavailable("the buffers need " + megabytes(needed) +
                    " of memory on this host; available: " + megabytes(available));
}

std::int64_t claimed = 0;
bool questioned = false;
// Available memory at the first large claim; none before it.
std::optional<double> available_before;

// The ranks that share memory with this rank.
Communicator sharing_memory(const Communicator& communicator) {
  // Simulated ranks all live in one process.
  if (mpi_simulates) return Communicator::duplicate(communicator.handle());
  return Communicator::on_this_host(communicator);
}

// Throws Unavailable if the bytes of all ranks of this host exceed the `available()` memory.
template <class Available>
void require_on_host(std::int64_t bytes, Available&& available, const Communicator& communicator) {
  if (communicator.largest(bytes) <= unquestioned) return;
  const Communicator host = sharing_memory(communicator);
  const double needed = host.sum(static_cast<double>(bytes));
  // The first simulated rank that checks finds the memory for all; the others find only the rest.
  const double left = mpi_simulates ? host.largest(available()) : host.smallest(available());
  if (needed > left) refuse(needed, left);
}

}  // namespace

double available_bytes(const std::string& root) {
  double bytes = std::numeric_limits<double>::infinity();
  for (const ControlGroup& group : control_groups("memory", root))
    bytes = std::min(bytes, left_in(group).value_or(bytes));
  std::ifstream facts(root + "/proc/meminfo");
  for (std::string word; facts >> word;) {
    double kibibytes = 0;
    if (word == "MemAvailable:" && facts >> kibibytes) bytes = std::min(bytes, kibibytes * 1024);
  }
  return bytes;
}

void require_memory(std::int64_t bytes, const Communicator& communicator) {
  if (memory_is_shared()) return;
  require_on_host(bytes, available_here, communicator);
}

void give_back_freed_memory([[maybe_unused]] const Communicator& communicator) {
#ifdef SCOPE_MPI_SIMULATES
  if (communicator.root()) malloc_trim(0);
#endif
}

QuestionedClaims::QuestionedClaims() {
  questioned = true;
  available_before.reset();
}

QuestionedClaims::~QuestionedClaims() { questioned = false; }

void QuestionedClaims::require_together(const Communicator& communicator) const {
  // Constructors may have touched their buffers, so the memory available before them counts. Ranks that claimed
  // little did not check it, and must not decide.
  static constexpr double not_looked = mpi_simulates ? 0 : std::numeric_limits<double>::infinity();
  require_on_host(claimed, [] { return available_before.value_or(not_looked); }, communicator);
}

void claim_memory(std::int64_t bytes) {
  if (questioned && claimed + bytes > unquestioned) {
    if (!available_before) available_before = available_here() + static_cast<double>(claimed);
    const auto needed = static_cast<double>(claimed + bytes);
    if (needed > *available_before) refuse(needed, *available_before);
  }
  claimed += bytes;
}

void release_memory(std::int64_t bytes) { claimed -= bytes; }

}  // namespace scope
