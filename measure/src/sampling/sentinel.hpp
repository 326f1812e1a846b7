// A small fixed workload between the cases of a launch. Its work is the same throughout a run, so that its times
// show when the machine changed: a different frequency, a neighbor on the host, another process on a processor.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <string>

#include "memory/buffer.hpp"
#include "memory/cache_lines.hpp"
#include "sampling/computation.hpp"
#include "sampling/repetition.hpp"

namespace scope {

// Times of the sentinel on this rank.
struct SentinelTimes {
  double arithmetic_s;                // dependent operations in registers
  double throughput_s;                // independent multiply-adds in registers
  double bandwidth_s;                 // reading memory that is not in any cache
  double memory_s;                    // dependent loads from a buffer beyond the second-level cache
  std::optional<double> ping_pong_s;  // rank 0 with the next rank of its host; none on all others
  double duration_s;                  // everything, including preparation
};

constexpr double sentinel_share = 0.02;

// Limit in case even the smallest duration so far was disturbed.
constexpr double longest_pause_s = 1;

// About 5 ms, so that a process that competes for the processor gets its turn within this time.
constexpr std::int64_t sentinel_steps = 3 << 20;

// About 1 ms. Enough independent sums to keep all floating-point units busy, but few enough for registers.
constexpr int throughput_steps = 1 << 18;
constexpr std::size_t independent_sums = 16;

// Larger than second-level caches, small compared with last-level caches.
constexpr std::size_t chain_bytes = 4 << 20;
constexpr std::size_t chain_line_bytes = 64;
constexpr std::size_t chain_lines = chain_bytes / chain_line_bytes;
constexpr int chain_loads = 1 << 13;
constexpr int untimed_round_trips = 2;
constexpr int timed_round_trips = 20;
constexpr int sentinel_tag = 5;

class Sentinel {
 public:
  // `host`: this rank's host. Collective.
  Sentinel(const Setting& setting, const std::string& host)
      : setting_(setting), computation_(setting.ticks), buffer_(chain_bytes) {
    const auto hosts = setting.world.all_gather(host);
    const auto next = std::find(hosts.begin() + 1, hosts.end(), hosts.front());
    if (next != hosts.end()) partner_ = static_cast<int>(next - hosts.begin());
    // One chain through all lines in random order, the same in every launch.
    std::vector<std::size_t> order(chain_lines);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(chain_lines));
    const auto line = [this](std::size_t number) {
      return reinterpret_cast<void**>(buffer_.data() + number * chain_line_bytes);
    };
    for (std::size_t i = 0; i < chain_lines; ++i) *line(order[i]) = line(order[(i + 1) % chain_lines]);
    position_ = line(order.front());
  }

  // Measures unless that would exceed 2 % of the time of an undisturbed machine; returns none then. Ranks that
  // share processors do not measure, since they would disturb each other. Collective.
  std::optional<SentinelTimes> measure_if_due() {
    int agreed = setting_.world.root() && due() ? 1 : 0;
    MPI_Bcast(&agreed, 1, MPI_INT, 0, setting_.world.handle());
    if (agreed == 0) return std::nullopt;
    const Ticks start = setting_.ticks.now();
    SentinelTimes times{};
    times.arithmetic_s = arithmetic();
    times.throughput_s = throughput();
    times.bandwidth_s = bandwidth();
    times.memory_s = memory();
    times.ping_pong_s = ping_pong();
    times.duration_s = seconds_since(start);
    least_s_ = last_s_ == 0 ? times.duration_s : std::min(least_s_, times.duration_s);
    last_s_ = times.duration_s;
    ended_ = setting_.ticks.now();
    return times;
  }

 private:
  bool due() const {
    if (setting_.oversubscribed) return false;
    // Longer than the last duration, so that a sentinel that waits for its CPU does not take most of the time.
    const double pause_s = std::max(last_s_, std::min(least_s_ / sentinel_share, longest_pause_s));
    return last_s_ == 0 || seconds_since(ended_) >= pause_s;
  }
  double arithmetic() {
    const Ticks start = setting_.ticks.now();
    computation_.run(sentinel_steps);
    return seconds_since(start);
  }
  double throughput() {
    std::array<double, independent_sums> sums{};
    const Ticks start = setting_.ticks.now();
    for (int step = 0; step < throughput_steps; ++step)
      for (double& sum : sums) sum = sum * 0.5 + 1.0;
    computed_ = std::accumulate(sums.begin(), sums.end(), 0.0);
    return seconds_since(start);
  }
  double bandwidth() {
    flush_from_caches({buffer_.data(), chain_bytes});
    const Ticks start = setting_.ticks.now();
    std::uintptr_t sum = 0;
    for (std::size_t i = 0; i < chain_bytes; i += chain_line_bytes)
      sum += reinterpret_cast<std::uintptr_t>(*reinterpret_cast<void**>(buffer_.data() + i));
    seen_ = sum;
    return seconds_since(start);
  }
  // To be called just after the buffer was read.
  double memory() {
    void** position = position_;
    const Ticks start = setting_.ticks.now();
    for (int i = 0; i < chain_loads; ++i) position = static_cast<void**>(*position);
    seen_ = reinterpret_cast<std::uintptr_t>(position);
    const double elapsed_s = seconds_since(start);
    position_ = position;
    return elapsed_s;
  }
  std::optional<double> ping_pong() const {
    const Communicator& world = setting_.world;
    if (partner_ == 0 || (!world.root() && world.rank() != partner_)) return std::nullopt;
    std::uint64_t word = 0;
    const auto exchange = [&](int times) {
      for (int i = 0; i < times; ++i) {
        if (world.root()) {
          MPI_Send(&word, 1, MPI_UINT64_T, partner_, sentinel_tag, world.handle());
          MPI_Recv(&word, 1, MPI_UINT64_T, partner_, sentinel_tag, world.handle(), MPI_STATUS_IGNORE);
        } else {
          MPI_Recv(&word, 1, MPI_UINT64_T, 0, sentinel_tag, world.handle(), MPI_STATUS_IGNORE);
          MPI_Send(&word, 1, MPI_UINT64_T, 0, sentinel_tag, world.handle());
        }
      }
    };
    exchange(untimed_round_trips);
    const Ticks start = setting_.ticks.now();
    exchange(timed_round_trips);
    return world.root() ? std::optional(seconds_since(start)) : std::nullopt;
  }
  double seconds_since(Ticks start) const { return setting_.ticks.seconds(setting_.ticks.now() - start); }

  const Setting& setting_;
  int partner_ = 0;  // partner of rank 0; 0 if its host has no other rank
  Computation computation_;
  Buffer buffer_;
  void** position_ = nullptr;
  Ticks ended_ = 0;
  double least_s_ = 0;  // smallest duration so far
  double last_s_ = 0;   // last duration; 0 before the first
  volatile std::uintptr_t seen_ = 0;
  volatile double computed_ = 0;
};

}  // namespace scope
