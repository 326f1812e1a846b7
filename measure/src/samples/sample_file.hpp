// `samples.jsonl`: one JSON line per launch, case, sentinel and end, appended and flushed at once; and the
// journal, with a short line for each of them, so that a supervisor need not read all samples while cases run.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <numeric>
#include <stdexcept>

#include "clocks/global_clock.hpp"
#include "clocks/tick_clock.hpp"
#include "json/json.hpp"
#include "options.hpp"
#include "plan/plan.hpp"
#include "processors/processors.hpp"
#include "samples/checksum.hpp"
#include "sampling/median.hpp"
#include "sampling/sampler.hpp"
#include "sampling/sentinel.hpp"

namespace scope {

// Thrown if the samples cannot be written; earlier records are intact.
class OutputError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// How ranks leave the wait for a common start, if they have one: the medians of empty repetitions.
struct CommonStart {
  double lag_s;     // from the agreed start to the first rank's entry
  double spread_s;  // from the first to the last rank's entry
};

struct LaunchFacts {
  std::string host;  // this rank's host
  std::string library;
  std::string mpi_standard;
  std::vector<ControlVariable> settings;  // of the library; empty except on rank 0
  ClockQuality quality;                   // of the worst rank
  double clock_error_s;
  std::optional<CommonStart> common_start;  // if the ranks wait for one
};

// How one case ended.
struct CaseResult {
  std::string status;  // ok, failed or unavailable
  std::string reason;
  double started_unix_s;
  double duration_s;
  Outcome outcome;
};

constexpr int format_version = 2;

// If not all ranks are kept in full, this many, evenly spread, keep all their times.
constexpr int ranks_sampled = 16;

inline std::vector<int> ranks_to_keep(Definition definition, int ranks, int most_in_full) {
  if (definition == Definition::half_round_trip) return {0};
  const int count = ranks <= most_in_full ? ranks : std::min(ranks_sampled, most_in_full);
  std::vector<int> kept(count);
  for (int i = 0; i < count; ++i) kept[i] = count == 1 ? 0 : static_cast<int>(i * (ranks - 1LL) / (count - 1));
  return kept;
}

// Gathers the values of all kept ranks, rank by rank, on the root.
inline std::vector<std::vector<double>> gather(const std::vector<double>& mine, const std::vector<int>& kept,
                                               const Communicator& world) {
  constexpr int tag = 4;
  const int count = static_cast<int>(mine.size());
  std::vector<std::vector<double>> all;
  const bool keep_mine = std::find(kept.begin(), kept.end(), world.rank()) != kept.end();
  if (!world.root()) {
    if (keep_mine) MPI_Send(mine.data(), count, MPI_DOUBLE, 0, tag, world.handle());
    return all;
  }
  for (const int rank : kept) {
    all.push_back(mine);
    if (rank != 0) MPI_Recv(all.back().data(), count, MPI_DOUBLE, rank, tag, world.handle(), MPI_STATUS_IGNORE);
  }
  return all;
}

inline std::vector<double> reduce(const std::vector<double>& mine, MPI_Op operation, const Communicator& world) {
  std::vector<double> result(mine.size());
  MPI_Allreduce(mine.data(), result.data(), static_cast<int>(mine.size()), MPI_DOUBLE, operation, world.handle());
  return result;
}

// Entry times relative to the agreed start of the repetition, or to the first entry.
inline std::vector<double> relative_entries(const Series& series, const Communicator& world) {
  std::vector<double> start_s = series.agreed_start_s;
  if (series.synchronization != Synchronization::window) start_s = reduce(series.entry_s, MPI_MIN, world);
  std::vector<double> entries(series.size());
  std::transform(series.entry_s.begin(), series.entry_s.end(), start_s.begin(), entries.begin(), std::minus<>());
  return entries;
}

inline void write_extremes(Json& json, const Series& series, const std::vector<double>& entries,
                           const Communicator& world) {
  struct Located {
    double value;
    int rank;
  };
  std::vector<Located> mine(series.size());
  std::vector<Located> result(series.size());
  const int count = static_cast<int>(series.size());
  std::vector<double> exits(series.size());
  for (std::size_t i = 0; i < series.size(); ++i) {
    mine[i] = {series.elapsed_s[i], world.rank()};
    exits[i] = entries[i] + series.elapsed_s[i];
  }
  json.object("extremes");
  const auto located = [&](MPI_Op operation, const char* value_name, const char* rank_name) {
    MPI_Allreduce(mine.data(), result.data(), count, MPI_DOUBLE_INT, operation, world.handle());
    std::vector<double> values(count);
    std::vector<int> ranks(count);
    for (int i = 0; i < count; ++i) {
      values[i] = result[i].value;
      ranks[i] = result[i].rank;
    }
    json.member(value_name, values);
    json.member(rank_name, ranks);
  };
  located(MPI_MINLOC, "minimum_s", "minimum_rank");
  located(MPI_MAXLOC, "maximum_s", "maximum_rank");
  std::vector<double> mean = reduce(series.elapsed_s, MPI_SUM, world);
  for (auto& value : mean) value /= world.size();
  json.member("mean_s", mean);
  json.member("first_entry_s", reduce(entries, MPI_MIN, world));
  json.member("latest_exit_s", reduce(exits, MPI_MAX, world));
  json.end();
}

// The median of each rank's times after the warm-up, rank by rank, on the root. Pair benchmarks need every rank,
// and one double per rank is cheap.
inline std::vector<double> medians(const Series& series, const Communicator& world) {
  std::vector<double> times_s(series.elapsed_s.begin() + series.warmup, series.elapsed_s.end());
  const double mine_s = times_s.empty() ? 0 : median(times_s);
  std::vector<double> all(world.root() ? world.size() : 0);
  MPI_Gather(&mine_s, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, 0, world.handle());
  return all;
}

inline bool is_of_pairs(const Declaration& declaration) {
  return std::any_of(declaration.rungs.begin(), declaration.rungs.end(), [](const Rung& rung) {
    return rung.pattern == Pattern::pair_matrix || rung.pattern == Pattern::pair_sample;
  });
}

inline void write_series(Json& json, const Series& series, const Declaration& declaration, int most_in_full,
                         const Communicator& world) {
  const Definition definition = declaration.definition;
  const auto kept = ranks_to_keep(definition, world.size(), most_in_full);
  json.object();
  json.member("cadence", cadences.at(series.cadence));
  json.member("synchronization", synchronizations.at(series.synchronization));
  json.member("operations", series.operations);
  json.member("warmup", series.warmup);
  json.member("ranks_kept", kept);
  json.member("elapsed_s", gather(series.elapsed_s, kept, world));
  const bool reduced = world.size() > most_in_full && definition != Definition::half_round_trip;
  if (definition == Definition::global || reduced) {
    const auto entries = relative_entries(series, world);
    json.member("entry_s", gather(entries, kept, world));
    if (reduced) write_extremes(json, series, entries, world);
    if (reduced && is_of_pairs(declaration)) json.member("medians_s", medians(series, world));
  }
  std::vector<double> late(series.late.begin(), series.late.end());
  late = reduce(late, MPI_MAX, world);
  if (std::accumulate(late.begin(), late.end(), 0.0) > 0) {
    std::vector<bool> valid(late.size());
    std::transform(late.begin(), late.end(), valid.begin(), [](double value) { return value == 0; });
    json.member("valid", valid);
  }
  if (!series.observed.empty()) {
    json.object("observed");
    for (const auto& [name, values] : series.observed) json.member(name, gather(values, kept, world));
    json.end();
    // The value of a quantity is its largest over all ranks, including those that do not keep their times.
    if (static_cast<int>(kept.size()) < world.size()) {
      json.object("observed_maximum");
      for (const auto& [name, values] : series.observed) json.member(name, reduce(values, MPI_MAX, world));
      json.end();
    }
  }
  json.end();
}

// The sums of the counts over all ranks and the largest counts; the largest waiting time of a rank and the largest
// steal time of a host.
inline void write_disturbances(Json& json, const Disturbances& mine, const Communicator& world) {
  const std::vector<double> counts{static_cast<double>(mine.voluntary_switches),
                                   static_cast<double>(mine.involuntary_switches),
                                   static_cast<double>(mine.major_faults),
                                   static_cast<double>(mine.migrations.value_or(0)),
                                   mine.migrations ? 0.0 : 1.0,
                                   mine.steal_s,
                                   mine.waited_s.value_or(0),
                                   mine.waited_s ? 0.0 : 1.0};
  const auto sums = reduce(counts, MPI_SUM, world);
  const auto most = reduce(counts, MPI_MAX, world);
  const auto write = [&](const char* name, int which) {
    json.object(name);
    json.member("sum", static_cast<std::int64_t>(sums[which]));
    json.member("maximum", static_cast<std::int64_t>(most[which]));
    json.end();
  };
  json.object("disturbances");
  write("voluntary_switches", 0);
  write("involuntary_switches", 1);
  write("major_faults", 2);
  if (sums[4] == 0) write("migrations", 3);
  if (sums[7] == 0) json.member("waited_s", most[6]);
  json.member("steal_s", most[5]);
  json.end();
}

// Writes only conditions that every rank knows.
inline void write_conditions(Json& json, const Conditions& mine, const Communicator& world) {
  const auto write = [&](const char* name, const std::optional<double>& value) {
    const double least = world.smallest(value.value_or(-1));
    const double most = world.largest(value.value_or(-1));
    if (least < 0) return;
    json.object(name);
    json.member("minimum", least);
    json.member("maximum", most);
    json.end();
  };
  json.object("conditions");
  write("frequency_hz", mine.frequency_hz);
  write("huge_pages_bytes", mine.huge_pages_bytes);
  json.end();
}

inline void write_settings(Json& json, const std::vector<ControlVariable>& settings) {
  json.object("settings");
  for (const auto& [name, value] : settings)
    std::visit([&](const auto& content) { json.member(name, content); }, value);
  json.end();
}

inline void write_outcome(Json& json, const Outcome& outcome, const Declaration& declaration, int most_in_full,
                          const Communicator& world) {
  json.object("verification");
  json.member("passed", outcome.verification.passed);
  json.member("checks", outcome.verification.checks);
  json.member("cost_s", outcome.verification.cost_s);
  const double digested_share = world.smallest(outcome.verification.digested_share);
  if (digested_share < 1) json.member("digested_share", digested_share);
  json.member("message", outcome.verification.message);
  json.end();
  json.object("work");
  json.member("bytes", outcome.work.bytes);
  json.member("flops", outcome.work.flops);
  json.member("messages", outcome.work.messages);
  json.member("steps", outcome.work.steps);
  json.end();
  write_disturbances(json, outcome.disturbances, world);
  write_conditions(json, outcome.conditions, world);
  json.member("stopped", outcome.stopped);
  if (outcome.relative_interval) json.member("relative_interval", *outcome.relative_interval);
  if (outcome.median_s) json.member("median_s", *outcome.median_s);
  if (!outcome.settings.empty()) write_settings(json, outcome.settings);
  json.array("series");
  for (const auto& series : outcome.series) write_series(json, series, declaration, most_in_full, world);
  json.end();
}

inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

inline std::string process_json(int rank, const std::string& host) {
  Json json;
  json.object();
  json.member("rank", rank);
  json.member("host", host);
  json.member("pid", static_cast<int>(getpid()));
  json.member("processors", allowed_processors());
  json.end();
  return json.text();
}

// Writes the identity of a record's case.
inline void write_identity(Json& json, const PlannedCase& item, int ranks) {
  const Declaration& declaration = item.benchmark->declaration;
  json.member("position", item.position);
  json.member("benchmark", declaration.name);
  json.object("parameters");
  for (const auto& parameter : declaration.parameters)
    if (parameter.is_choice())
      json.member(parameter.name, item.parameters.choice(parameter.name));
    else
      json.member(parameter.name, item.parameters.integer(parameter.name));
  json.end();
  json.member("ranks", ranks);
}

// A file to which rank 0 appends whole lines. All calls are collective and throw OutputError on every rank.
class LineFile : NotCopied {
 public:
  // An empty path means standard output.
  LineFile(const std::string& path, const Communicator& world)
      : world_(world), path_(path.empty() ? "standard output" : path) {
    int problem = 0;
    if (world_.root()) {
      file_ =
          path.empty() ? dup(STDOUT_FILENO) : open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
      problem = file_ < 0 ? errno : 0;
    }
    MPI_Bcast(&problem, 1, MPI_INT, 0, world_.handle());
    if (problem != 0) throw OutputError(path_ + ": cannot be opened: " + std::strerror(problem));
  }
  ~LineFile() {
    if (file_ >= 0) close(file_);
  }

  void append(const std::string& line) {
    int problem = 0;
    if (world_.root()) {
      const off_t before = lseek(file_, 0, SEEK_END);
      const std::string whole = line + "\n";
      std::size_t written = 0;
      while (written < whole.size() && problem == 0) {
        const ssize_t count = write(file_, whole.data() + written, whole.size() - written);
        if (count >= 0)
          written += static_cast<std::size_t>(count);
        else if (errno != EINTR)
          problem = errno;
      }
      // Remove a partial line, so that the file stays well-formed.
      [[maybe_unused]] const int ignored = problem != 0 && before >= 0 ? ftruncate(file_, before) : 0;
    }
    MPI_Bcast(&problem, 1, MPI_INT, 0, world_.handle());
    if (problem != 0) throw OutputError(path_ + ": cannot be written: " + std::strerror(problem));
  }

 private:
  const Communicator& world_;
  std::string path_;
  int file_ = -1;
};

// All calls are collective; rank 0 writes. They throw OutputError on every rank.
class SampleFile {
 public:
  SampleFile(const Options& options, const Communicator& world)
      : options_(options), world_(world), samples_(options.output, world) {
    if (!options.journal.empty()) journal_.emplace(options.journal, world);
  }

  void write_launch(const LaunchFacts& facts, const TickClock& ticks, const GlobalClock& clock) {
    const auto processes = world_.gather(process_json(world_.rank(), facts.host));
    const auto drifts = clock.drifts();
    Json json = begin("launch");
    json.member("format", format_version);
    json.member("ranks", world_.size());
    json.member("origin", options_.origin);
    json.member("transport", options_.transport);
    json.member("placement", options_.placement);
    json.key("started_unix_s");
    json.moment(unix_seconds());
    json.member("library", facts.library);
    json.member("mpi_standard", facts.mpi_standard);
    write_settings(json, facts.settings);
    json.object("clock");
    json.member("source", ticks.source());
    json.member("frequency_hz", ticks.frequency_hz());
    json.member("resolution_s", facts.quality.resolution_s);
    json.member("overhead_s", facts.quality.overhead_s);
    json.member("monotonic", facts.quality.monotonic);
    json.member("fallback_reason", ticks.fallback_reason());
    json.end();
    json.object("clock_synchronization");
    json.member("method", clock.one_host() ? "one host, one register" : "hierarchical, linear drift (HCA3)");
    json.member("hosts", clock.hosts());
    json.member("error_s", facts.clock_error_s);
    json.member("drift", drifts);
    json.end();
    if (facts.common_start) {
      json.object("common_start");
      json.member("lag_s", facts.common_start->lag_s);
      json.member("spread_s", facts.common_start->spread_s);
      json.end();
    }
    // Every rank has already described itself as JSON.
    json.array("processes");
    json.end();
    json.end();
    std::string line = json.text();
    const std::string empty = "\"processes\":[]";
    line.replace(line.rfind(empty), empty.size(), "\"processes\":[" + joined(processes, ",") + "]");

    Json entry = begin("launch");
    entry.member("transport", options_.transport);
    entry.member("placement", options_.placement);
    append(line, entry);
  }
  void write_case(const PlannedCase& item, const CaseResult& result) {
    const Declaration& declaration = item.benchmark->declaration;
    Json json = begin("case");
    write_identity(json, item, world_.size());
    json.member("status", result.status);
    json.member("reason", result.reason);
    json.key("started_unix_s");
    json.moment(result.started_unix_s);
    json.member("duration_s", result.duration_s);
    if (!result.outcome.series.empty())
      write_outcome(json, result.outcome, declaration, options_.keep_ranks, world_);
    json.end();

    Json entry = begin("case");
    write_identity(entry, item, world_.size());
    entry.member("status", result.status);
    entry.member("stopped", result.outcome.stopped);
    entry.member("duration_s", result.duration_s);
    entry.member("median_s", result.outcome.median_s);
    entry.member("warmup", result.outcome.series.empty() ? 0 : result.outcome.series.front().warmup);
    append(json.text(), entry);
  }
  void write_sentinel(double started_unix_s, const SentinelTimes& times) {
    const auto kept = ranks_to_keep(Definition::max_rank, world_.size(), options_.keep_ranks);
    const auto of_kept = [&](double mine) {
      std::vector<double> values;
      for (const auto& row : gather({mine}, kept, world_)) values.push_back(row.front());
      return values;
    };
    Json json = begin("sentinel");
    json.key("started_unix_s");
    json.moment(started_unix_s);
    json.member("duration_s", times.duration_s);
    json.member("ranks_kept", kept);
    json.member("arithmetic_s", of_kept(times.arithmetic_s));
    json.member("throughput_s", of_kept(times.throughput_s));
    json.member("bandwidth_s", of_kept(times.bandwidth_s));
    json.member("memory_s", of_kept(times.memory_s));
    if (times.ping_pong_s) json.member("ping_pong_s", *times.ping_pong_s);
    json.end();

    Json entry = begin("sentinel");
    entry.member("duration_s", times.duration_s);
    append(json.text(), entry);
  }
  void write_end(double duration_s, double clock_error_s, std::optional<double> outside_s) {
    Json json = begin("end");
    json.member("duration_s", duration_s);
    json.member("clock_error_s", clock_error_s);
    if (outside_s) json.member("outside_s", *outside_s);
    json.end();

    Json entry = begin("end");
    append(json.text(), entry);
  }

 private:
  // Begins a record with the common fields.
  Json begin(const char* record) const {
    Json json;
    json.object();
    json.member("record", record);
    json.member("launch", options_.launch);
    json.member("attempt", options_.attempt);
    return json;
  }
  // Appends a record, and ends its entry and appends it to the journal.
  void append(const std::string& record, Json& journal_entry) {
    samples_.append(with_checksum(record));
    journal_entry.end();
    if (journal_) journal_->append(journal_entry.text());
  }

  const Options& options_;
  const Communicator& world_;
  LineFile samples_;
  std::optional<LineFile> journal_;
};

}  // namespace scope
