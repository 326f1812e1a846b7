// `samples.jsonl`: one JSON line per launch, case, sentinel and end, appended and flushed at once; and the journal,
// a short line for each of them, so that a supervisor need not read all samples while cases run.
#pragma once

#include <stdexcept>

#include "clocks/global_clock.hpp"
#include "clocks/tick_clock.hpp"
#include "json/json.hpp"
#include "options.hpp"
#include "plan/plan.hpp"
#include "sampling/sampler.hpp"
#include "sampling/sentinel.hpp"

namespace scope {

// The samples cannot be written; earlier records are intact.
class OutputError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// How ranks leave the wait for a common start, where they have one: the medians of empty repetitions.
struct CommonStart {
  double lag_s;     // from the agreed start to the first rank's entry
  double spread_s;  // from the first to the last rank's entry
};

struct LaunchFacts {
  std::string host;  // of this rank
  std::string library;
  std::string mpi_standard;
  std::vector<ControlVariable> settings;  // of the library; empty but on rank 0
  ClockQuality quality;                   // the worst of all ranks
  double clock_error_s;
  std::optional<CommonStart> common_start;  // where the ranks wait for one
};

// How one case ended.
struct CaseResult {
  std::string status;  // ok, failed or unavailable
  std::string reason;
  double started_unix_s;
  double duration_s;
  Outcome outcome;
};

// Whole lines appended to a file by rank 0. All calls are collective and throw OutputError on every rank.
class LineFile : NotCopied {
 public:
  // An empty path is standard output.
  LineFile(const std::string& path, const Communicator& world);
  ~LineFile();

  void append(const std::string& line);

 private:
  const Communicator& world_;
  std::string path_;
  int file_ = -1;
};

// All calls are collective; rank 0 writes. They throw OutputError on every rank.
class SampleFile {
 public:
  SampleFile(const Options& options, const Communicator& world);

  void write_launch(const LaunchFacts& facts, const TickClock& ticks, const GlobalClock& clock);
  void write_case(const PlannedCase& item, const CaseResult& result);
  void write_sentinel(double started_unix_s, const SentinelTimes& times);
  void write_end(double duration_s, double clock_error_s);

 private:
  // Begins a record with the common fields.
  Json begin(const char* record) const;
  // Appends a record and, to the journal, its entry, which this ends.
  void append(const std::string& record, Json& journal_entry);

  const Options& options_;
  const Communicator& world_;
  LineFile samples_;
  std::optional<LineFile> journal_;
};

double unix_seconds();

}  // namespace scope
