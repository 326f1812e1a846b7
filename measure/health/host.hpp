// What the kernel says about a host: facts that should agree over a fleet, and counters of faults. Files are read below
// `root`, the folder with /proc and /sys; one that is absent costs one fact.
#pragma once

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace scope::health {

using Facts = std::map<std::string, std::string>;
using Counters = std::map<std::string, std::uint64_t>;

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  // Some kernels end lists of processors with a zero byte.
  while (!text.empty() && (std::isspace(static_cast<unsigned char>(text.back())) || text.back() == '\0'))
    text.pop_back();
  return text;
}

inline std::uint64_t number_of(const std::filesystem::path& path) {
  return std::strtoull(text_of(path).c_str(), nullptr, 10);
}

// The entries of a folder whose names begin so, and with a digit after it where `numbered`; sorted.
inline std::vector<std::filesystem::path> entries(const std::filesystem::path& folder,
                                                  const std::string& begin = "", bool numbered = false) {
  std::vector<std::filesystem::path> found;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(folder, absent)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(begin) && (!numbered || std::isdigit(static_cast<unsigned char>(name[begin.size()]))))
      found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// `0-2,5` as {0, 1, 2, 5}.
inline std::vector<int> members(const std::string& list) {
  std::vector<int> found;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    int first = 0, last = 0;
    const int read = std::sscanf(part.c_str(), "%d-%d", &first, &last);
    for (int number = first; read > 0 && number <= (read == 2 ? last : first); ++number) found.push_back(number);
  }
  return found;
}

inline std::vector<int> allowed_processors() {
  std::vector<int> allowed;
  // A set of the usual size does not hold the processors of the largest hosts (sched_getaffinity(2)).
  const int most = 16384;
  cpu_set_t* const set = CPU_ALLOC(most);
  if (set != nullptr && sched_getaffinity(0, CPU_ALLOC_SIZE(most), set) == 0)
    for (int processor = 0; processor < most; ++processor)
      if (CPU_ISSET_S(processor, CPU_ALLOC_SIZE(most), set)) allowed.push_back(processor);
  CPU_FREE(set);
  return allowed;
}

// The value after `key` and a colon or an equals sign, in the first line that begins with it.
inline std::string value_of(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const auto separator = line.find_first_of(":=", key.size());
    if (separator == std::string::npos || line.find_first_not_of(" \t", key.size()) != separator) continue;
    const auto begin = line.find_first_not_of(" \t\"", separator + 1);
    const auto end = line.find_last_not_of(" \t\"");
    return begin == std::string::npos ? "" : line.substr(begin, end - begin + 1);
  }
  return "";
}

inline std::string joined(const std::set<std::string>& texts) {
  std::string all;
  for (const auto& text : texts)
    if (!text.empty()) all += (all.empty() ? "" : ", ") + text;
  return all;
}

// The different texts that a file has below each of these folders: the governors of all processors.
inline std::string different(const std::vector<std::filesystem::path>& folders, const std::string& file) {
  std::set<std::string> found;
  for (const auto& folder : folders) found.insert(text_of(folder / file));
  return joined(found);
}

// What /proc/cpuinfo calls the processors, each kind once: x86, LoongArch, POWER, RISC-V; of ARM implementer and part.
inline std::string processor_names(const std::string& information) {
  for (const char* key : {"model name", "Model Name", "cpu", "uarch", "CPU part"}) {
    std::set<std::string> found;
    std::string maker;
    std::istringstream lines(information);
    for (std::string line; std::getline(lines, line);) {
      if (const auto said = value_of(line, "CPU implementer"); !said.empty()) maker = said + "/";
      if (const auto said = value_of(line, key); !said.empty()) found.insert((*key == 'C' ? maker : "") + said);
    }
    if (!found.empty()) return joined(found);
  }
  return "";
}

// The chosen word of `always [madvise] never`.
inline std::string chosen(const std::string& words) {
  const auto begin = words.find('['), end = words.find(']');
  return end == std::string::npos ? words : words.substr(begin + 1, end - begin - 1);
}

// Interfaces whose names containers and virtual machines invent differ on every host, and say nothing about it.
inline bool of_the_host(const std::string& interface) {
  for (const char* invented : {"lo", "veth", "docker", "br-", "virbr", "cali", "tap", "tun", "vnet", "lxc"})
    if (interface.starts_with(invented)) return false;
  return !interface.empty();
}

// The line of each interface in /proc/net/dev: that of this network namespace, which /sys need not show.
inline std::map<std::string, std::string> interface_lines(const std::string& root) {
  std::map<std::string, std::string> found;
  std::istringstream lines(text_of(root + (root.empty() ? "/proc/self/net/dev" : "/proc/net/dev")));
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string name = line.substr(line.find_first_not_of(' '), colon - line.find_first_not_of(' '));
    if (of_the_host(name)) found[name] = line.substr(colon + 1);
  }
  return found;
}

// MTU, state and speed, by ioctl(2) for the network namespace of this process; netdevice(7), linux/ethtool.h.
inline void ask_interface(const std::string& name, Facts& facts) {
  const int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (control < 0) return;
  ifreq request{};
  std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
  if (ioctl(control, SIOCGIFMTU, &request) == 0)
    facts["interface " + name + " MTU"] = std::to_string(request.ifr_mtu);
  if (ioctl(control, SIOCGIFFLAGS, &request) == 0)
    facts["interface " + name + " state"] = (request.ifr_flags & IFF_RUNNING) != 0 ? "up" : "down";
  ethtool_cmd link{};
  link.cmd = ETHTOOL_GSET;
  request.ifr_data = reinterpret_cast<char*>(&link);
  if (ioctl(control, SIOCETHTOOL, &request) == 0) {
    const std::uint32_t speed = ethtool_cmd_speed(&link);
    if (speed != 0 && speed != 0xFFFF && speed != 0xFFFFFFFF)
      facts["interface " + name + " speed"] = std::to_string(speed) + " Mbit/s";
    if (link.duplex <= DUPLEX_FULL)
      facts["interface " + name + " duplex"] = link.duplex == DUPLEX_FULL ? "full" : "half";
  }
  close(control);
}

inline void read_interface(const std::string& root, const std::string& name, Facts& facts) {
  const std::filesystem::path folder = root + "/sys/class/net/" + name;
  facts["interface " + name + " MTU"] = text_of(folder / "mtu");
  facts["interface " + name + " state"] = text_of(folder / "operstate");
  const auto speed = std::strtoll(text_of(folder / "speed").c_str(), nullptr, 10);
  if (speed > 0) facts["interface " + name + " speed"] = std::to_string(speed) + " Mbit/s";
  facts["interface " + name + " duplex"] = text_of(folder / "duplex");
}

inline std::vector<std::filesystem::path> processor_folders(const std::string& root) {
  auto folders = entries(root + "/sys/devices/system/cpu", "cpu", true);
  std::erase_if(folders, [](const auto& folder) { return !std::filesystem::exists(folder / "topology"); });
  return folders;
}

// The physical cores; with `present`, the number of all processors, also those that are offline: they have no
// topology, and are taken to be like the others. Older kernels have no lists.
inline std::size_t count_cores(const std::vector<std::filesystem::path>& processors, std::size_t present) {
  std::map<std::string, std::size_t> threads;
  std::size_t most = 1;
  for (const auto& processor : processors)
    for (const char* file : {"core_cpus_list", "thread_siblings_list", "core_cpus", "thread_siblings"})
      if (const auto text = text_of(processor / "topology" / file); !text.empty()) {
        most = std::max(most, ++threads[text]);
        break;
      }
  return std::max(threads.size(), present / most);
}

// An amount of /proc/meminfo; empty where it is not shown.
inline std::string mebibytes(const std::string& memory, const char* key) {
  const auto kibibytes = value_of(memory, key);
  return kibibytes.empty() ? "" : std::to_string(std::strtoull(kibibytes.c_str(), nullptr, 10) >> 10) + " MiB";
}

inline Facts facts(const std::string& root) {
  Facts facts;
  const std::string system = root + "/sys/devices/system/";
  const auto processors = processor_folders(root);
  const auto information = text_of(root + "/proc/cpuinfo");
  const auto memory = text_of(root + "/proc/meminfo");
  utsname name{};
  uname(&name);
  facts["architecture"] = name.machine;
  facts["processor"] = processor_names(information);
  std::set<std::string> sockets;
  for (const auto& processor : processors)
    if (const auto socket = text_of(processor / "topology/physical_package_id"); !socket.starts_with("-"))
      sockets.insert(socket);
  sockets.erase("");
  const auto online = members(text_of(system + "cpu/online"));
  auto present = members(text_of(system + "cpu/present"));
  facts["SMT"] = text_of(system + "cpu/smt/control");
  facts["sockets"] = std::to_string(sockets.size());
  // Where the kernel does not say whether SMT is off, a processor that is offline may be one more thread of a core.
  const bool whole = facts["SMT"] == "on" || facts["SMT"] == "notsupported";
  facts["cores"] = std::to_string(count_cores(processors, whole ? present.size() : 0));
  facts["hardware threads"] = std::to_string(processors.size());
  // Not the file `offline`: it also has processors that could be plugged in.
  if (online.empty()) present.clear();
  std::erase_if(present,
                [&](int processor) { return std::binary_search(online.begin(), online.end(), processor); });
  facts["offline processors"] = std::to_string(present.size());
  facts["NUMA nodes"] = std::to_string(entries(system + "node", "node", true).size());
  facts["memory"] = mebibytes(memory, "MemTotal");
  facts["swap"] = mebibytes(memory, "SwapTotal");
  facts["product"] = text_of(root + "/sys/class/dmi/id/product_name");
  facts["BIOS"] = text_of(root + "/sys/class/dmi/id/bios_version");
  facts["microcode"] = value_of(information, "microcode");
  facts["kernel"] = text_of(root + "/proc/sys/kernel/osrelease");
  facts["operating system"] = value_of(text_of(root + "/etc/os-release"), "PRETTY_NAME");
  facts["governor"] = different(processors, "cpufreq/scaling_governor");
  facts["highest frequency"] = different(processors, "cpufreq/scaling_max_freq");
  facts["turbo off"] = text_of(system + "cpu/intel_pstate/no_turbo");
  facts["turbo"] = text_of(system + "cpu/cpufreq/boost");
  facts["clock source"] = text_of(system + "clocksource/clocksource0/current_clocksource");
  facts["transparent huge pages"] = chosen(text_of(root + "/sys/kernel/mm/transparent_hugepage/enabled"));
  facts["NUMA balancing"] = text_of(root + "/proc/sys/kernel/numa_balancing");
  for (const auto& file : entries(system + "cpu/vulnerabilities"))
    facts["mitigation " + file.filename().string()] = text_of(file);
  for (const auto& [interface, line] : interface_lines(root))
    root.empty() ? ask_interface(interface, facts) : read_interface(root, interface, facts);
  for (const auto& adapter : entries(root + "/sys/class/infiniband"))
    for (const auto& port : entries(adapter / "ports")) {
      const std::string which = "InfiniBand " + adapter.filename().string() + "/" + port.filename().string();
      facts[which + " rate"] = text_of(port / "rate");
      facts[which + " state"] = text_of(port / "state");
      facts[which + " firmware"] = text_of(adapter / "fw_ver");
    }
  for (const char* number : {"sockets", "cores", "hardware threads", "NUMA nodes", "offline processors"})
    if (facts[number] == "0") facts[number].clear();
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  return facts;
}

// The file system of a folder; statfs(2).
inline std::string file_system(const std::string& folder) {
  struct statfs found{};
  if (statfs(folder.c_str(), &found) != 0) return "";
  switch (static_cast<std::uint32_t>(found.f_type)) {
    case 0x01021994: return "tmpfs";
    case 0xEF53: return "ext4";
    case 0x58465342: return "xfs";
    case 0x9123683E: return "btrfs";
    case 0x794C7630: return "overlayfs";
    case 0x6969: return "NFS";
    case 0x0BD00BD0: return "Lustre";
    default: break;
  }
  char number[16];
  std::snprintf(number, sizeof number, "0x%lx", static_cast<unsigned long>(found.f_type));
  return number;
}

// Counters that stand still on a sound host, and the time that a hypervisor took.
inline Counters counters(const std::string& root) {
  Counters found;
  for (const auto& [interface, line] : interface_lines(root)) {
    std::istringstream words(line);
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t number = 0; words >> number;) numbers.push_back(number);
    if (numbers.size() < 16) continue;
    // The columns of net/core/net-procfs.c: errors, overruns and frames received; errors, overruns, collisions and
    // carrier losses sent. Dropped packets are no fault: a host drops what it has no use for.
    found["interface " + interface + " receive errors"] = numbers[2] + numbers[4] + numbers[5];
    found["interface " + interface + " send errors"] = numbers[10] + numbers[12] + numbers[13] + numbers[14];
  }
  for (const auto& adapter : entries(root + "/sys/class/infiniband"))
    for (const auto& port : entries(adapter / "ports"))
      for (const char* counter : {"symbol_error", "link_downed", "link_error_recovery", "port_rcv_errors"})
        if (const auto file = port / "counters" / counter; std::filesystem::exists(file))
          found["InfiniBand " + adapter.filename().string() + "/" + port.filename().string() + " " + counter] =
              number_of(file);
  for (const auto& controller : entries(root + "/sys/devices/system/edac/mc", "mc", true)) {
    found["memory corrected errors"] += number_of(controller / "ce_count");
    found["memory uncorrected errors"] += number_of(controller / "ue_count");
  }
  for (const auto& processor : processor_folders(root))
    for (const char* of : {"core", "package"})
      if (const auto file = processor / "thermal_throttle" / (std::string(of) + "_throttle_count");
          std::filesystem::exists(file))
        found["thermal throttling"] += number_of(file);
  const auto statistics = text_of(root + "/proc/vmstat");
  if (const auto killed = statistics.find("\noom_kill "); killed != std::string::npos)
    found["processes killed for memory"] = std::strtoull(statistics.c_str() + killed + 10, nullptr, 10);
  std::istringstream ticks(text_of(root + "/proc/stat"));
  std::string cpu;
  ticks >> cpu;
  for (int column = 0; column < 8; ++column) {
    std::uint64_t count = 0;
    ticks >> count;
    found["processor time"] += count;
    if (column == 7) found["processor time stolen"] = count;  // proc(5), /proc/stat
  }
  return found;
}

}  // namespace scope::health
