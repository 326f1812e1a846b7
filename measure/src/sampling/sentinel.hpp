// A small fixed workload between the cases of a launch. Its work is the same all along a run, so that its times
// show when the machine changed: another frequency, a neighbor on the host, another process on a processor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "memory/buffer.hpp"
#include "sampling/computation.hpp"
#include "sampling/repetition.hpp"

namespace scope {

// What the sentinel took on this rank.
struct SentinelTimes {
  double arithmetic_s;                // dependent operations in registers
  double throughput_s;                // independent multiply-adds in registers
  double bandwidth_s;                 // reading memory that is in no cache
  double memory_s;                    // dependent loads from a buffer beyond the second-level cache
  std::optional<double> ping_pong_s;  // rank 0 with the next rank of its host; none on all others
  double duration_s;                  // everything, preparation included
};

class Sentinel {
 public:
  // `host`: of this rank. Collective.
  Sentinel(const Setting& setting, const std::string& host);

  // Measures unless that would exceed 2 % of the time of an undisturbed machine; none then. Ranks that share
  // processors measure nothing: their times would be those of each other. Collective.
  std::optional<SentinelTimes> measure_if_due();

 private:
  bool due() const;
  double arithmetic();
  double throughput();
  double bandwidth();
  double memory();
  std::optional<double> ping_pong() const;
  double seconds_since(Ticks start) const { return setting_.ticks.seconds(setting_.ticks.now() - start); }

  const Setting& setting_;
  int partner_ = 0;  // of rank 0; 0 where its host has no other rank
  Computation computation_;
  Buffer buffer_;
  void** position_ = nullptr;
  Ticks ended_ = 0;
  double least_s_ = 0;  // that it took so far
  double last_s_ = 0;   // 0 before the first time
  volatile std::uintptr_t seen_ = 0;
  volatile double computed_ = 0;
};

}  // namespace scope
