// Repeats a case until its precision is reached or its budget is spent, and records the reason.
#pragma once

#include "benchmark.hpp"
#include "faults/faults.hpp"
#include "progress/progress.hpp"
#include "sampling/conditions.hpp"
#include "sampling/disturbances.hpp"

namespace scope {

struct SamplingPolicy {
  double budget_s = 0.5;
  std::optional<int> warmup;  // warm-up repetitions found by an earlier launch; none: determined here
  double precision = 0.02;    // target half width of the median's 95 % interval over the median
  int minimum_repetitions = 10;
  int maximum_repetitions = 1000;
  // A burst of a millisecond does not represent the next second, so precision does not end a case before this.
  double minimum_span_s = 0.01;
  bool complete = false;  // compare every repetition's data in full, regardless of the cost
  std::optional<Synchronization> synchronization;  // none: window, or dissemination if oversubscribed
};

// The raw times of one cadence on this rank, in order.
struct Series {
  Cadence cadence;
  Synchronization synchronization;
  std::int64_t operations;
  int warmup = 0;
  std::vector<double> agreed_start_s;
  std::vector<double> entry_s;
  std::vector<double> elapsed_s;
  std::vector<char> late;
  std::map<std::string, std::vector<double>> observed;

  void append(const Times& times);
  std::size_t size() const { return elapsed_s.size(); }
};

struct Verification {
  bool passed = true;
  std::int64_t checks = 0;
  double cost_s = 0;
  double digested_share = 1;  // smallest compared fraction of a repetition's data
  std::string message;
};

struct Outcome {
  std::vector<Series> series;
  Verification verification;
  Work work;
  Disturbances disturbances;  // of this rank, from before the first repetition to after the last
  Conditions conditions;      // of this rank, after the last repetition
  std::string stopped;
  std::optional<double> relative_interval;
  std::optional<double> median_s;         // of one operation by the benchmark's definition; on the root
  std::vector<ControlVariable> settings;  // granted by a library to this case
};

// Collective over the setting's ranks.
Outcome sample(const Declaration& declaration, Benchmark& benchmark, const SamplingPolicy& policy,
               const Setting& setting, const Faults& faults, Progress& progress);

}  // namespace scope
