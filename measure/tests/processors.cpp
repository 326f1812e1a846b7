#include "processors/processors.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "check.hpp"
#include "sampling/conditions.hpp"

using namespace scope;
namespace fs = std::filesystem;

namespace {

// Folders that look like a host's /proc and /sys.
class MockedHost {
 public:
  MockedHost() {
    char name[] = "/tmp/scope-processors-XXXXXX";
    root_ = mkdtemp(name);
  }
  ~MockedHost() { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::optional<double> quota() const { return processor_quota(root_); }
  Conditions conditions() const { return Conditions::now(root_); }

 private:
  std::string root_;
};

void reads_frequency_and_huge_pages() {
  MockedHost host;
  CHECK(!host.conditions().frequency_hz);
  CHECK(!host.conditions().huge_pages_bytes);
  for (const int processor : allowed_processors()) {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(processor);
    host.write(folder + "/cpufreq/scaling_cur_freq", "2450000\n");
  }
  host.write("/proc/self/smaps_rollup",
             "55d0-7ffe ---p 00000000 00:00 0 [rollup]\nRss: 9 kB\nAnonHugePages: 4096 kB\n");
  CHECK(host.conditions().frequency_hz == 2.45e9);
  CHECK(host.conditions().huge_pages_bytes == 4096 * 1024);
}

void reads_version_2() {
  MockedHost host;
  CHECK(!host.quota());
  host.write("/proc/self/cgroup", "0::/job/step\n");
  CHECK(!host.quota());
  host.write("/sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
  CHECK(!host.quota());
  host.write("/sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  CHECK(host.quota() == 1.5);
  host.write("/sys/fs/cgroup/cpu.max", "800000 100000\n");
  CHECK(host.quota() == 1.5);
  host.write("/sys/fs/cgroup/job/step/cpu.max", "50000 100000\n");
  CHECK(host.quota() == 0.5);
}

void reads_version_1() {
  MockedHost host;
  host.write("/proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/batch\n0::/\n");
  host.write("/sys/fs/cgroup/cpu/batch/cpu.cfs_quota_us", "-1\n");
  host.write("/sys/fs/cgroup/cpu/batch/cpu.cfs_period_us", "100000\n");
  CHECK(!host.quota());
  host.write("/sys/fs/cgroup/cpu/batch/cpu.cfs_quota_us", "400000\n");
  CHECK(host.quota() == 4);
  // A container sees its own group at the root of the mount.
  host.write("/proc/self/cgroup", "4:cpuacct,cpu:/docker/outside\n");
  host.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  host.write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  CHECK(host.quota() == 2);
}

void counts_what_is_shared() {
  const std::vector<int> all{0, 1, 2, 3};
  CHECK(usable_processors({all, all}, std::nullopt) == 4);
  CHECK(usable_processors({{0}, {2}}, std::nullopt) == 2);
  CHECK(usable_processors({all}, 2.5) == 2);
  CHECK(usable_processors({all}, 0.5) == 1);
  CHECK(usable_processors({{}}, std::nullopt) == 1);

  CHECK(!must_share_processors({all, all}, std::nullopt));
  CHECK(!must_share_processors({{0}, {1}}, std::nullopt));
  CHECK(must_share_processors({all, all, all, all, all}, std::nullopt));
  CHECK(must_share_processors({all, all}, 1.5));
  CHECK(!must_share_processors({all, all}, 2.0));
  // Bound to one processor, although another one is idle.
  CHECK(must_share_processors({{0}, {0}, all}, std::nullopt));
  CHECK(!must_share_processors({{0}, {1}, all, all}, std::nullopt));
}

}  // namespace

int main() {
  reads_frequency_and_huge_pages();
  reads_version_2();
  reads_version_1();
  counts_what_is_shared();
  CHECK(!allowed_processors().empty());
  return scope::testing::failures;
}
