// One visit to a host: what its kernel says, what it does, and which counters moved meanwhile, as JSON lines.
//
//   health --seconds=2 --memory-mb=512 --limit=60 [--disk=FOLDER] [--root=FOLDER] [--facts] [--idle-only]
//   health --listen --limit=60 [--interface=NAME]
//   health --connect=ADDRESS,... --port=PORT --seconds=1 --limit=60
//
// No MPI, no libraries: it is copied to hosts that have nothing installed. It takes about `seconds`, at most
// `memory-mb` and 64 MiB of the file system of the folder `disk`, and ends itself after `limit` seconds. With a root
// it reads the facts and counters of a recorded host; `--facts` measures nothing. The last two measure the link between
// two hosts; both have the same token of 64 characters in SCOPE_HEALTH_TOKEN, which no other user can read.
#include <sys/resource.h>

#include <csignal>
#include <iostream>

#include "checks.hpp"
#include "host.hpp"
#include "json/json.hpp"
#include "link.hpp"

namespace scope::health {
namespace {

constexpr std::size_t disk_bytes = std::size_t{4} << 20;
constexpr char too_slow[] = "the measurement did not end within its time limit\n";
constexpr int most_files = 16;  // 64 MiB
constexpr std::size_t latency_bytes = std::size_t{64} << 20;

void print(const Json& line) { std::cout << line.text() << std::endl; }

void print_moment(const char* what) {
  Json line;
  line.object();
  line.key(what);
  line.moment(now_s(CLOCK_REALTIME));
  line.end();
  print(line);
}

template <class Map>
void print(const char* what, const Map& map) {
  Json line;
  line.object();
  line.object(what);
  for (const auto& [name, value] : map) line.member(name, value);
  line.end();
  line.end();
  print(line);
}

void print(const char* check, const std::string& place, double value) {
  if (!std::isfinite(value) || value <= 0) return;
  Json line;
  line.object();
  line.member("check", check);
  line.member("place", place);
  line.member("value", value);
  line.end();
  print(line);
}

struct NumaNode {
  std::string name;
  std::vector<int> processors;
};

// The NUMA nodes with processors that this process may use.
std::vector<NumaNode> numa_nodes(const std::vector<int>& allowed) {
  std::vector<NumaNode> nodes;
  for (const auto& folder : entries("/sys/devices/system/node", "node", true)) {
    NumaNode node{folder.filename(), {}};
    for (const int processor : members(text_of(folder / "cpulist")))
      if (std::find(allowed.begin(), allowed.end(), processor) != allowed.end())
        node.processors.push_back(processor);
    if (!node.processors.empty()) nodes.push_back(node);
  }
  if (nodes.empty()) nodes.push_back({"node0", allowed});
  return nodes;
}

void measure(double seconds, std::size_t memory_bytes, const std::string& folder) {
  const auto allowed = allowed_processors();
  const auto nodes = numa_nodes(allowed);
  const std::size_t available =
      std::strtoull(value_of(text_of("/proc/meminfo"), "MemAvailable").c_str(), nullptr, 10) << 10;
  const std::size_t most = std::min(memory_bytes, available / 4);
  for (const auto& node : nodes) {
    const double part = seconds / static_cast<double>(nodes.size());
    // Each of three arrays as STREAM's rule demands, where that is within the memory that may be used.
    const auto caches = static_cast<std::size_t>(last_level_cache_bytes(node.processors));
    const std::size_t wanted = caches == 0 ? most : 12 * caches;
    print("memory_bandwidth", node.name, memory_bandwidth(node.processors, std::min(wanted, most), 0.3 * part));
    print("memory_latency", node.name,
          memory_latency(node.processors.front(), std::min(latency_bytes, most), 0.15 * part));
  }
  print("core_arithmetic", "", arithmetic_rates({allowed.front()}, 0.1 * seconds).front().typical);
  const auto rates = arithmetic_rates(allowed, 0.15 * seconds);
  double sum = 0, least = rates.front().whole;
  for (const auto& rate : rates) {
    sum += rate.whole;
    least = std::min(least, rate.whole);
  }
  print("arithmetic", "", sum);
  print("slowest_core", "", least);
  print("undisturbed", "", undisturbed_share(allowed, 0.15 * seconds));
  print("clock_cost", "", clock_cost(0.02 * seconds));
  const auto disk = disk_rates(folder, disk_bytes, 0.13 * seconds, most_files);
  print("disk_write", "", disk.write);
  print("disk_read", "", disk.read);
}

// Waits for the other host of a link, and answers it.
void listen_for(const std::string& token, const std::string& interface) {
  const auto own = addresses(interface);
  if (own.empty()) throw Failure("no interface with an address that others can reach");
  const auto [handle, port] = listening();
  Json line;
  line.object();
  line.member("port", port);
  line.array("addresses");
  for (const auto& address : own) line.value(address);
  line.end();
  line.end();
  print(line);
  for (;;) {
    const int came = accept4(handle, nullptr, nullptr, SOCK_CLOEXEC);
    if (came < 0) fail("cannot accept");
    const Socket socket(came);
    char said[half_token];
    try {
      socket.receive(said, sizeof said);
      if (token.compare(0, half_token, said, half_token) != 0) continue;
    } catch (const Failure&) {
      continue;
    }
    socket.send(token.data() + half_token, half_token);
    answer_link(socket);
    return;
  }
}

void connect_to(const std::string& token, const std::string& list, int port, double seconds) {
  constexpr int repetitions = 6;
  std::vector<std::string> known;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) known.push_back(part);
  const Socket socket(connected(known, port));
  socket.send(token.data(), half_token);
  char said[half_token];
  socket.receive(said, sizeof said);
  if (token.compare(half_token, half_token, said, half_token) != 0) throw Failure("another program answered");
  const Link link = measure_link(socket, seconds, repetitions);
  Json line;
  line.object();
  line.object("link");
  line.member("latency_s", link.latency_s);
  line.member("forward", link.forward);
  line.member("backward", link.backward);
  line.member("forward_at_once", link.forward_at_once);
  line.member("backward_at_once", link.backward_at_once);
  line.end();
  line.end();
  print(line);
}

// Only what a signal handler may call.
extern "C" void say_too_slow(int) {
  (void)!write(STDERR_FILENO, too_slow, sizeof too_slow - 1);
  _exit(1);
}

// The value of `--name=value`; else `otherwise`.
std::string option(int count, char** words, const std::string& name, const std::string& otherwise) {
  const std::string begin = "--" + name + "=";
  for (int i = 1; i < count; ++i)
    if (const std::string word = words[i]; word.starts_with(begin)) return word.substr(begin.size());
  return otherwise;
}

}  // namespace
}  // namespace scope::health

int main(int count, char** words) {
  using namespace scope::health;
  signal(SIGALRM, say_too_slow);
  alarm(static_cast<unsigned>(std::stoul(option(count, words, "limit", "60"))));
  const std::string target = option(count, words, "connect", "");
  if (!target.empty() || std::find(words, words + count, std::string("--listen")) != words + count) {
    const char* const given = getenv("SCOPE_HEALTH_TOKEN");
    const std::string token = given == nullptr ? "" : given;
    try {
      if (token.size() != 2 * half_token) throw Failure("no token");
      target.empty() ? listen_for(token, option(count, words, "interface", ""))
                     : connect_to(token, target, std::stoi(option(count, words, "port", "0")),
                                  std::stod(option(count, words, "seconds", "1")));
    } catch (const Failure& failure) {
      std::cerr << failure.what() << std::endl;
      return 1;
    }
    return 0;
  }
  if (std::find(words, words + count, std::string("--idle-only")) != words + count) {
    std::istringstream load(text_of("/proc/loadavg"));
    std::string average;
    std::size_t running = 0;  // with this process; proc(5)
    load >> average >> average >> average >> running;
    if (running > 1 + allowed_processors().size() / 10) {
      std::cerr << "busy: " << running - 1 << " other threads run" << std::endl;
      return 1;
    }
  }
  const std::string root = option(count, words, "root", "");
  const bool only_facts = std::find(words, words + count, std::string("--facts")) != words + count;
  print_moment("begun");
  const std::string folder = option(count, words, "disk", ".");
  Facts known = facts(root);
  if (const auto kind = file_system(folder); root.empty() && !kind.empty())
    known["file system of the disk check"] = kind;
  print("facts", known);
  print("before", counters(root));
  if (!only_facts)
    measure(std::stod(option(count, words, "seconds", "2")),
            std::stoull(option(count, words, "memory-mb", "512")) << 20, folder);
  print("after", counters(root));
  print_moment("ended");
  return 0;
}
