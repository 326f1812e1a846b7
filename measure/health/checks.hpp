// The measurements of one visit to a host. Each repeats a short piece of work until its time is over, and gives the
// median of the pieces.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "memory/large_pages.hpp"
#include "processors/caches.hpp"
#include "processors/multiply_add.hpp"
#include "sampling/median.hpp"

namespace scope::health {

inline double now_s(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

inline void stay_on(int processor) {
  const std::size_t most = 16384;
  cpu_set_t* const set = CPU_ALLOC(most);
  CPU_ZERO_S(CPU_ALLOC_SIZE(most), set);
  CPU_SET_S(processor, CPU_ALLOC_SIZE(most), set);
  sched_setaffinity(0, CPU_ALLOC_SIZE(most), set);
  CPU_FREE(set);
}

// Runs a body on a thread of each processor; all have begun before any goes on after `ready`.
using Ready = std::function<void()>;
inline void on_each(const std::vector<int>& processors,
                    const std::function<void(std::size_t, const Ready&)>& body) {
  std::barrier<> together(static_cast<std::ptrdiff_t>(processors.size()));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < processors.size(); ++i)
    threads.emplace_back([&, i] {
      stay_on(processors[i]);
      body(i, [&] { together.arrive_and_wait(); });
    });
  for (auto& thread : threads) thread.join();
}

// Bytes per second of the triad a = b + s c on all of these processors, each on arrays of its own that it touched first.
// `bytes`: of all arrays together.
inline double memory_bandwidth(const std::vector<int>& processors, std::size_t bytes, double seconds) {
  const std::size_t length = std::max<std::size_t>(bytes / 3 / sizeof(double) / processors.size(), 1024);
  std::vector<double> passes;
  double begun = 0;
  std::atomic<bool> over = false;
  on_each(processors, [&](std::size_t i, const Ready& ready) {
    LargeArray a(length, 0.0), b(length, 1.0), c(length, 2.0);
    ready();
    const double end = now_s() + seconds;
    while (!over) {
      ready();
      if (i == 0) begun = now_s();
      ready();
      for (std::size_t k = 0; k < length; ++k) a[k] = b[k] + 3.0 * c[k];
      asm volatile("" : : "r"(a.data()) : "memory");
      ready();
      if (i == 0) {
        passes.push_back(now_s() - begun);
        over = now_s() >= end;
      }
      ready();
    }
  });
  return static_cast<double>(3 * sizeof(double) * length * processors.size()) / median(passes);
}

// Seconds of a load that depends on the one before, over memory of `bytes`: a walk along a random cycle through its lines.
inline double memory_latency(int processor, std::size_t bytes, double seconds) {
  double result = 0;
  on_each({processor}, [&](std::size_t, const Ready&) {
    constexpr std::size_t line = 64 / sizeof(std::uint64_t);
    const std::size_t lines = std::max<std::size_t>(bytes / 64, 1024);
    std::vector<std::uint64_t, LargePages<std::uint64_t>> memory(lines * line);
    std::vector<std::uint32_t> order(lines);
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
    for (std::size_t k = 0; k < lines; ++k) memory[order[k] * line] = order[(k + 1) % lines] * line;
    constexpr int steps = 4096;
    std::vector<double> walks;
    std::uint64_t at = 0;
    for (const double end = now_s() + seconds; walks.empty() || now_s() < end;) {
      const double begun = now_s();
      for (int k = 0; k < steps; ++k) at = memory[at];
      asm volatile("" : : "r"(at));
      walks.push_back((now_s() - begun) / steps);
    }
    result = median(walks);
  });
  return result;
}

struct Arithmetic {
  double whole = 0;    // over all of the time, with all interruptions: what a program gets
  double typical = 0;  // median of pieces of some microseconds: what the clock gives
};

// Floating point operations per second of each of these processors, all at work at once.
inline std::vector<Arithmetic> arithmetic_rates(const std::vector<int>& processors, double seconds) {
  const auto kernel = multiply_add::widest<double>();
  const double work = 2.0 * static_cast<double>(multiply_add::rounds * multiply_add::chains) *
                      static_cast<double>(kernel.bytes / sizeof(double));
  std::vector<Arithmetic> rates(processors.size());
  on_each(processors, [&](std::size_t i, const Ready& ready) {
    multiply_add::Sums<double> sums{};
    std::vector<double> pieces;
    ready();
    const double start = now_s();
    double last = start;
    while (last < start + seconds) {
      kernel.run(sums, 1.0, 2.0);
      const double time = now_s();
      pieces.push_back(time - last);
      last = time;
    }
    rates[i] = {work * static_cast<double>(pieces.size()) / (last - start), work / median(pieces)};
  });
  return rates;
}

// The share of the time that each of these processors was left to a program that only looks at the clock: the rest
// went to interrupts, other processes and the hypervisor. A gap counts where it is long beside the usual step.
inline double undisturbed_share(const std::vector<int>& processors, double seconds) {
  constexpr double gap_s = 5e-6;
  std::vector<double> shares(processors.size());
  on_each(processors, [&](std::size_t i, const Ready& ready) {
    ready();
    const double begun = now_s();
    double last = begun, lost = 0;
    while (last < begun + seconds) {
      const double time = now_s();
      if (time - last > gap_s) lost += time - last;
      last = time;
    }
    shares[i] = 1 - lost / (last - begun);
  });
  return std::max(std::accumulate(shares.begin(), shares.end(), 0.0) / static_cast<double>(shares.size()), 1e-3);
}

// Seconds of one look at the clock.
inline double clock_cost(double seconds) {
  constexpr int looks = 1000;
  std::vector<double> costs;
  for (const double end = now_s() + seconds; costs.empty() || now_s() < end;) {
    const double begun = now_s();
    for (int k = 0; k < looks; ++k) now_s();
    costs.push_back((now_s() - begun) / (looks + 1));
  }
  return median(costs);
}

struct DiskRates {
  double write = 0;  // bytes per second until fsync(2) returns
  double read = 0;   // bytes per second of what the kernel was asked to forget
};

// Rates of a file of `bytes` in a folder, written, synchronized, read and removed; 0 where it cannot be.
inline DiskRates disk_rates(const std::string& folder, std::size_t bytes, double seconds, int most) {
  std::vector<std::uint64_t> content(bytes / sizeof(std::uint64_t));
  std::mt19937_64 random(now_s() * 1e6);
  for (auto& word : content) word = random();  // nothing that a disk could compress
  // Hosts may share the folder.
  utsname host{};
  uname(&host);
  const std::string name = folder + "/scope-health." + host.nodename + "." + std::to_string(getpid());
  std::vector<double> writes, reads;
  const double end = now_s() + seconds;
  for (int k = 0; k < most && (writes.empty() || now_s() < end); ++k) {
    const int file = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) break;
    unlink(name.c_str());
    double begun = now_s();
    const bool written = write(file, content.data(), bytes) == static_cast<ssize_t>(bytes) && fsync(file) == 0;
    if (written) writes.push_back(static_cast<double>(bytes) / (now_s() - begun));
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    begun = now_s();
    if (written && pread(file, content.data(), bytes, 0) == static_cast<ssize_t>(bytes))
      reads.push_back(static_cast<double>(bytes) / (now_s() - begun));
    close(file);
  }
  if (writes.empty() || reads.empty()) return {};
  return {median(writes), median(reads)};
}

}  // namespace scope::health
