// The memory that control groups leave; claims of buffers.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "check.hpp"
#include "memory/available.hpp"
#include "memory/buffer.hpp"

using namespace scope;
using scope::testing::thrown;
namespace fs = std::filesystem;

namespace {

void write(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

void counts_limits() {
  char name[] = "/tmp/scope-memory-XXXXXX";
  const std::string root = mkdtemp(name);
  CHECK(available_bytes(root) == std::numeric_limits<double>::infinity());
  write(root + "/proc/meminfo", "MemTotal: 9000 kB\nMemAvailable: 4000 kB\n");
  CHECK(available_bytes(root) == 4096000);
  write(root + "/proc/self/cgroup", "0::/job/step\n");
  write(root + "/sys/fs/cgroup/job/memory.max", "3000000\n");
  write(root + "/sys/fs/cgroup/job/memory.current", "1000000\n");
  CHECK(available_bytes(root) == 2000000);
  write(root + "/sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file 400000\nactive_file 7\n");
  CHECK(available_bytes(root) == 2400000);
  write(root + "/proc/self/cgroup", "4:cpu,memory:/job\n0::/\n");
  write(root + "/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "700000\n");
  write(root + "/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "300000\n");
  CHECK(available_bytes(root) == 400000);
  fs::remove_all(root);
}

// Memory is only mapped here, never touched.
void refuses_claims() {
  const auto too_much = static_cast<std::size_t>(available_bytes() * 1.5);
  const auto most = static_cast<std::size_t>(available_bytes() * 0.6);
  const QuestionedClaims claims;
  const std::string said = thrown([&] { const Buffer buffer(too_much); });
  CHECK(said.find(" of memory on this host; available: ") != std::string::npos);
  // What was given back may be claimed again, but two that fit alone do not fit together.
  {
    const Buffer first(most);
  }
  const Buffer again(most);
  CHECK(!thrown([&] { const Buffer buffer(most); }).empty());
}

}  // namespace

int main() {
  counts_limits();
  refuses_claims();
  return 0;
}
