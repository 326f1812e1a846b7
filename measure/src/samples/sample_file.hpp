// `samples.jsonl`: one JSON line per launch, case and end, appended and handed to the system at once.
#pragma once

#include <stdexcept>
#include <string>

#include "clocks/global_clock.hpp"
#include "clocks/tick_clock.hpp"
#include "mpi/communicator.hpp"
#include "options.hpp"
#include "plan/plan.hpp"
#include "sampling/sampler.hpp"

namespace scope {

// The samples cannot be written; what was written before is whole.
class OutputError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct LaunchFacts {
  std::string host;  // of this rank
  std::string library;
  std::string mpi_standard;
  std::vector<ControlVariable> settings;  // of the library; empty but on rank 0
  ClockQuality quality;                   // the worst of all ranks
  double clock_error_s;
};

// How one case ended.
struct CaseResult {
  std::string status;  // ok, failed or unavailable
  std::string reason;
  double started_unix_s;
  double duration_s;
  Outcome outcome;
};

// All calls are collective; rank 0 writes. They throw OutputError on every rank.
class SampleFile {
 public:
  SampleFile(const Options& options, const Communicator& world);
  ~SampleFile();
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;

  void write_launch(const LaunchFacts& facts, const TickClock& ticks, const GlobalClock& clock);
  void write_case(const PlannedCase& item, const CaseResult& result);
  void write_end(double duration_s, double clock_error_s);

 private:
  void append(const std::string& line);

  const Options& options_;
  const Communicator& world_;
  std::string path_;
  int file_ = -1;
};

double unix_seconds();

}  // namespace scope
