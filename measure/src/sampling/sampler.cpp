#include "sampling/sampler.hpp"

#include <chrono>
#include <iterator>

#include "memory/sharing.hpp"
#include "sampling/digests.hpp"
#include "sampling/interval.hpp"
#include "sampling/link_counters.hpp"
#include "sampling/median.hpp"
#include "sampling/steady.hpp"
#include "synchronization/dissemination.hpp"

namespace scope {
namespace {

// A looped repetition is so long that a clock step is at most 0.2 % of it, and at least 5 us.
constexpr double steps_per_repetition = 500;
constexpr double shortest_repetition_s = 5e-6;
// A loop has at least this many operations, so that costs of every n-th operation (returning credits, wrapping
// queues) affect all repetitions equally.
constexpr std::int64_t fewest_looped = 32;
// Ranks that have just met are half a microsecond faster: a window of 64 messages of 1 KiB takes 5 % less time.
constexpr double negligible_meeting_s = 100e-6;
// With MPICH 5.0 the second get takes 175 us, and later ones take 10 us.
constexpr int most_calibrating = 4;
constexpr double longest_undecided_s = 1e-3;
constexpr double group_s = 10e-3;
constexpr int largest_group = 64;
// Repetitions are compared with each other, so single ones must use the same data.
constexpr int fewest_on_same_data = 4;
constexpr double tolerated_late_share = 0.1;
// Ranks start together if their entries are not further apart than the larger of two limits: a multiple of the clock
// error, and a fraction of the typical time. A rank may be descheduled between its last clock read and its entry.
constexpr double tolerated_clock_errors = 3;
constexpr double tolerated_skew = 0.1;
// Including filling and verification, a case lasts at most this many budgets unless it has too few repetitions.
constexpr double longest_stay = 4;
constexpr double one_definition_s = 1;
// A budget smaller than this does not end a case that has too few repetitions.
constexpr double budget_of_few_s = 0.05;
// Loops of back-to-back operations may take as long as the budget, or as long as this.
constexpr double shortest_budget_of_loops_s = 0.1;
// For slower operations, start skew affects the first ones of a loop, so loops are longer. Faster operations would
// lose more time by using more slots than fit into a cache.
constexpr double slow_operation_s = 200e-6;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A root may have space for fewer operations than the others, so all do the same number.
std::int64_t most_on_every_rank(const Communicator& world, std::int64_t operations) {
  return std::max<std::int64_t>(1, world.smallest(operations));
}

// Samples one case; its state exists as long as the case.
class Sampling {
 public:
  Sampling(const Declaration& declaration, Benchmark& benchmark, const SamplingPolicy& policy,
           const Setting& setting, const Faults& faults, Progress& progress)
      : declaration_(declaration),
        benchmark_(benchmark),
        policy_(policy),
        setting_(setting),
        faults_(faults),
        progress_(progress),
        window_(setting.world, setting.clock),
        links_(setting.world, !benchmark.loops()),
        synchronization_(chosen_synchronization()),
        looped_repetition_s_(std::max(shortest_repetition_s, steps_per_repetition * setting.resolution_s)) {
    window_.lose_processor(faults.delay_s("late-entry", setting.world.rank()));
  }

  Outcome sample() {
    const Disturbances before = Disturbances::so_far();
    progress_.enter(Stage::warming_up);
    const auto arrival = std::chrono::steady_clock::now();
    begin_group();
    const Times first = repeat(Cadence::isolated, 1);
    verify();
    calibrate(first);
    open_series(first);
    if (outcome_.series.front().size() > 0) collect_headline(1);
    progress_.enter(Stage::sampling);
    const auto start = std::chrono::steady_clock::now();
    int size = mpi_simulates ? simulated_group_size(seconds_since(arrival))
                             : std::max(1, group_size(outcome_.series.front().size()));
    preparing_s_ = 0;
    while (size > 0) {
      sample_group(size);
      size = decide(seconds_since(start));
    }
    add_missing_loops();
    refuse_overlap();
    outcome_.disturbances = Disturbances::so_far().since(before);
    outcome_.conditions = Conditions::now();
    settle_warmup();
    outcome_.work = benchmark_.work();
    outcome_.settings = benchmark_.settings();
    return std::move(outcome_);
  }

 private:
  bool collective() const { return declaration_.definition == Definition::global; }

  Synchronization chosen_synchronization() const {
    if (setting_.world.size() == 1) return Synchronization::none;
    // An exchange that is timed by its initiator does not need a further common start than that before every
    // repetition. Plans cannot change this, since ranks without a partner would not take part.
    const bool common_start = collective() || declaration_.definition == Definition::max_rank;
    if (!common_start) return Synchronization::none;
    if (policy_.synchronization) return *policy_.synchronization;
    // A window starts all ranks at the same time but waits by spinning, which needs a processor per rank.
    const bool in_time = !setting_.oversubscribed && !benchmark_.prepares();
    return in_time ? Synchronization::window : Synchronization::dissemination;
  }

  Times repeat(Cadence cadence, std::int64_t operations) {
    faults_.hang_if_asked(declaration_.name, setting_.world);
    last_ = cadence;
    repetition_ = repetition_of(cadence);
    ++on_these_data_;
    cool();
    resynchronize();
    Repetition repetition(setting_, window_, cadence, synchronization_, operations, preceded(cadence, operations));
    links_.begin();
    benchmark_.run(repetition);
    links_.end(repetition);
    progress_.count_repetition();
    compare(cadence, repetition.times().elapsed_s, repetition.calls());
    delay_if_asked(repetition.times());
    Times times = repetition.times();
    if (cold_repetitions_ > 0) {
      --cold_repetitions_;
      times.elapsed_s += faults_.delay_s("cold-start", setting_.world.rank());
    }
    return times;
  }

  // Injected fault: one rank takes long to check its data.
  void delay_if_asked(const Times& times) {
    if (!faults_.asks("slow-check")) return;
    entered_s_.push_back(times.entry_s);
    std::this_thread::sleep_for(
        std::chrono::duration<double>(faults_.delay_s("slow-check", setting_.world.rank())));
    checked_s_.push_back(setting_.clock.now());
  }

  // Timing on this rank must begin after the checks of all ranks. The clocks of hosts differ by microseconds.
  void refuse_overlap() {
    if (entered_s_.empty()) return;
    constexpr double tolerance_s = 100e-6;
    MPI_Allreduce(MPI_IN_PLACE, checked_s_.data(), static_cast<int>(checked_s_.size()), MPI_DOUBLE, MPI_MAX,
                  setting_.world.handle());
    for (std::size_t i = 1; i < entered_s_.size(); ++i) {
      const bool timed = entered_s_[i] != 0;  // ranks without a partner are not timed
      if (timed && entered_s_[i] < checked_s_[i - 1] - tolerance_s)
        note_problem("a rank was timed while another rank checked its data", last_, i + 1);
    }
  }

  // Filling, flushing, digests and verification take different times on different ranks and must not overlap the
  // timed part of another rank. This is unnecessary for ranks with a common start.
  void resynchronize() {
    if (setting_.world.size() == 1 || synchronization_ != Synchronization::none) return;
    const auto start = std::chrono::steady_clock::now();
    wait_for_all();
    preparing_s_ += seconds_since(start);
  }

  void wait_for_all() {
    if (!faults_.asks("no-resynchronization")) dissemination_barrier(setting_.world);
  }

  // Flushes the message buffers if the case requests cold caches.
  void cool() {
    if (!benchmark_.cold()) return;
    const auto start = std::chrono::steady_clock::now();
    for (const auto& buffer : benchmark_.message_buffers()) flush_from_caches(buffer);
    // Flushing takes different times on different ranks.
    dissemination_barrier(setting_.world);
    preparing_s_ += seconds_since(start);
  }

  // Whether an untimed operation precedes the timed ones: if they follow each other without a common start, or if
  // a short exchange is affected by the preceding meeting of its ranks.
  bool preceded(Cadence cadence, std::int64_t operations) const {
    if (synchronization_ != Synchronization::none && cadence != Cadence::streaming) return false;
    return operations > 1 || notices_the_meeting_;
  }

  // A simulated clock times single operations exactly, and repeating them would not average anything. In a loop a
  // message may overwrite another one unnoticed.
  bool loops() const {
    const bool all_seen = !policy_.complete || benchmark_.kept_share(2) == 1;
    return benchmark_.loops() && !benchmark_.cold() && !mpi_simulates && all_seen;
  }

  // Every repetition of a group works on the same data and must leave the same results. If that cannot be
  // required, every operation is verified in full, unless the output of one is the input of the next.
  void compare(Cadence cadence, double elapsed_s, std::int64_t calls) {
    if (memory_is_shared()) return;
    if (!benchmark_.repeats()) {
      if (!benchmark_.loops()) verify();
      return;
    }
    if (setting_.world.size() == 1) return;  // nothing was received, so `verify` suffices
    const auto start = std::chrono::steady_clock::now();
    Digests& digests = digests_[static_cast<std::size_t>(cadence)];
    auto parts = benchmark_.computed();
    parts.insert(parts.begin(), benchmark_.received());
    if (digests.empty()) {
      first_on_these_data_[static_cast<std::size_t>(cadence)] = repetition_;
      digests.clear(affordable_share(parts, elapsed_s));
    }
    const double compared = digests.share() * benchmark_.kept_share(calls);
    outcome_.verification.digested_share = std::min(outcome_.verification.digested_share, compared);
    note_problem(digests.difference(parts), cadence, repetition_);
    const double cost_s = seconds_since(start);
    // Digests of small fractions spend most time elsewhere and must not make digests appear ever more expensive.
    const double bytes = digests.share() * size_of(parts);
    if (bytes > 0 && (digest_s_per_byte_ == 0 || cost_s < digest_s_per_byte_ * bytes))
      digest_s_per_byte_ = cost_s / bytes;
    outcome_.verification.cost_s += cost_s;
    preparing_s_ += cost_s;
  }

  using Parts = std::vector<std::span<const std::byte>>;

  static double size_of(const Parts& parts) {
    double bytes = 0;
    for (const auto& part : parts) bytes += static_cast<double>(part.size());
    return bytes;
  }

  // Fraction of the data whose digest takes at most the allowed part of a repetition of this length.
  double affordable_share(const Parts& parts, double elapsed_s) const {
    return policy_.complete ? 1 : Digests::affordable_share(digest_s_per_byte_ * size_of(parts), elapsed_s);
  }

  void note_problem(const std::string& problem, Cadence cadence, std::size_t repetition) {
    if (problem.empty() || !outcome_.verification.passed) return;
    outcome_.verification.passed = false;
    outcome_.verification.message = sentence({cadences.at(cadence), " repetition ", repetition, ": ", problem});
  }

  // The number of the next repetition, counted from 1.
  std::size_t repetition_of(Cadence cadence) const {
    for (const Series& series : outcome_.series)
      if (series.cadence == cadence) return series.size() + 1;
    return 1;
  }

  // Whether an operation that took this long at first may yet be short enough for a loop or an untimed operation.
  bool undecided(double elapsed_s) const {
    return elapsed_s >= looped_repetition_s_ && elapsed_s < longest_undecided_s;
  }

  // Finds how many operations make a repetition long enough to be timed well.
  void calibrate(const Times& first) {
    repetition_s_ = setting_.world.largest(first.elapsed_s);
    if (!loops() || of_seconds()) return;
    const std::int64_t most_operations = most_on_every_rank(setting_.world, benchmark_.most_operations());
    most_operations_ = most_operations;
    begin_group();
    const auto elapsed_of = [this](std::int64_t operations) {
      return setting_.world.largest(repeat(Cadence::streaming, operations).elapsed_s);
    };
    const auto first_of = [&](std::int64_t operations) {
      digests_[static_cast<std::size_t>(Cadence::streaming)].clear();  // for a different number of operations
      const double elapsed_s = elapsed_of(operations);
      verify();
      return elapsed_s;
    };
    double elapsed_s = first_of(1);
    // The first operations connect, map memory and miss every cache, so they do not represent later ones.
    for (int further = 1; further < most_calibrating && undecided(elapsed_s); ++further)
      elapsed_s = std::min(elapsed_s, elapsed_of(1));
    while (elapsed_s < looped_repetition_s_ && operations_ < most_operations) {
      const double growth = elapsed_s > 0 ? looped_repetition_s_ / elapsed_s : 10;
      operations_ = std::min<std::int64_t>(
          most_operations, static_cast<std::int64_t>(
                               std::ceil(static_cast<double>(operations_) * std::clamp(growth * 1.1, 1.5, 10.0))));
      elapsed_s = first_of(operations_);
    }
    const std::int64_t fewest = std::min(fewest_looped, most_operations);
    if (operations_ > 1 && operations_ < fewest) {
      elapsed_s *= static_cast<double>(fewest) / static_cast<double>(operations_);
      operations_ = fewest;
    }
    for (auto& digests : digests_) digests.clear();  // for different numbers of operations
    repetition_s_ = elapsed_s;
    notices_the_meeting_ =
        setting_.world.size() > 1 && operations_ == 1 && most_operations > 1 && elapsed_s < negligible_meeting_s;
  }

  void open_series(const Times& first) {
    auto& series = outcome_.series;
    // A single process has no common start that loops would give up.
    const std::int64_t isolated_operations = collective() && setting_.world.size() > 1 ? 1 : operations_;
    series.push_back(
        {.cadence = Cadence::isolated, .synchronization = synchronization_, .operations = isolated_operations});
    if (isolated_operations == 1 && !notices_the_meeting_) series.front().append(first);
    if (!collective() || !loops() || of_seconds()) return;
    const double operation_s = repetition_s_ / static_cast<double>(operations_);
    const double allowed_s = std::max(policy_.budget_s, shortest_budget_of_loops_s);
    // One repetition of each looped cadence, and the untimed operation before.
    const auto fits = [&](std::int64_t operations) {
      return static_cast<double>(2 * operations + 1) * operation_s <= allowed_s;
    };
    std::int64_t wanted = operation_s < slow_operation_s ? operations_back_to_back : slow_operations_back_to_back;
    while (wanted > operations_back_to_back && !fits(wanted)) --wanted;
    const std::int64_t looped = std::max(operations_, std::min(most_operations_, wanted));
    if (!fits(looped)) return;
    for (const Cadence cadence : {Cadence::streaming, Cadence::barrier_loop})
      series.push_back({.cadence = cadence, .synchronization = synchronization_, .operations = looped});
  }

  // Whether one operation takes so long that its start is negligible and loops of it would take seconds.
  bool of_seconds() const { return repetition_s_ > one_definition_s; }

  void begin_group() {
    const auto start = std::chrono::steady_clock::now();
    if (seed_ == 0 || on_these_data_ >= fewest_on_same_data) {
      ++seed_;
      on_these_data_ = 0;
      benchmark_.fill(seed_);
      for (auto& digests : digests_) digests.clear();
    }
    // Filling takes different times on different ranks.
    wait_for_all();
    preparing_s_ += seconds_since(start);
  }

  void verify() {
    if (memory_is_shared()) return;
    progress_.enter(Stage::verifying);
    const auto start = std::chrono::steady_clock::now();
    faults_.corrupt_if_asked(declaration_.name, setting_.world, benchmark_.received());
    const Check check = benchmark_.verify(seed_);
    // Revert the corruption, as the data may be the input of the next operation.
    faults_.corrupt_if_asked(declaration_.name, setting_.world, benchmark_.received());
    outcome_.verification.checks += check.checks;
    outcome_.verification.cost_s += seconds_since(start);
    preparing_s_ += seconds_since(start);
    note_problem(check.problem, last_, first_wrong());
    progress_.enter(Stage::sampling);
  }

  // The first repetition whose data `verify` rejects, given that all on the same data left the same results.
  std::size_t first_wrong() const {
    const bool compared = benchmark_.repeats() && setting_.world.size() > 1;
    return compared ? first_on_these_data_[static_cast<std::size_t>(last_)] : repetition_;
  }

  void sample_group(int size) {
    begin_group();
    for (auto& series : outcome_.series) {
      const std::int64_t count = series.cadence == Cadence::isolated ? size : due(series);
      for (std::int64_t repetition = 0; repetition < count; ++repetition)
        series.append(repeat(series.cadence, series.operations));
      if (count > 0) verify();
    }
    collect_headline(size);
  }

  // The other cadences get, over the whole case, a quarter of the number of isolated operations, or a quarter of
  // the number of repetitions if these are loops, too.
  std::int64_t due(const Series& series) const {
    const auto isolated = static_cast<std::int64_t>(outcome_.series.front().size());
    return isolated / (4 * (series.operations / operations_)) - static_cast<std::int64_t>(series.size());
  }

  // For too few isolated repetitions to have had any loop; after these, which give the headline values.
  void add_missing_loops() {
    for (auto& series : outcome_.series) {
      if (series.size() > 0) continue;
      begin_group();
      series.append(repeat(series.cadence, series.operations));
      verify();
    }
  }

  // Gathers the headline times of the last `size` repetitions on the root.
  void collect_headline(int size) {
    constexpr int quantities = 4;
    const Series& series = outcome_.series.front();
    const std::size_t from = series.size() - size;
    std::vector<double> mine(quantities * size);
    for (int i = 0; i < size; ++i) {
      double* const values = &mine[quantities * i];
      const double entry_s = series.entry_s[from + i];
      values[0] = collective() ? entry_s + series.elapsed_s[from + i] : series.elapsed_s[from + i];
      const bool timed = entry_s != 0;  // some ranks do not take part in the operation
      values[1] = timed ? -entry_s : -INFINITY;
      values[2] = timed ? entry_s : -INFINITY;
      values[3] = series.late[from + i];
    }
    if (declaration_.definition != Definition::half_round_trip) {
      MPI_Reduce(setting_.world.root() ? MPI_IN_PLACE : mine.data(), mine.data(), quantities * size, MPI_DOUBLE,
                 MPI_MAX, 0, setting_.world.handle());
    }
    if (!setting_.world.root()) return;
    int late = 0;
    for (int i = 0; i < size; ++i) {
      const double* const values = &mine[quantities * i];
      const bool announced_late = values[3] != 0;
      if (announced_late) ++late;
      // Counted from the first entry, not from the agreed start, because leaving the wait takes time of our own.
      const double time_s = collective() ? values[0] + values[1] : values[0];
      headline_.push_back({time_s, values[1] + values[2], announced_late});
    }
    if (late > tolerated_late_share * size) window_.widen();
  }

  // On the root: the time of every repetition, NaN if its ranks did not start together.
  std::vector<double> counted_times() const {
    std::vector<double> times_s(headline_.size());
    std::transform(headline_.begin(), headline_.end(), times_s.begin(),
                   [](const Headline& headline) { return headline.time_s; });
    const double tolerated_s = times_s.empty() ? 0
                                               : std::max(tolerated_clock_errors * setting_.clock_error_s,
                                                          tolerated_skew * median(times_s));
    const bool windows = synchronization_ == Synchronization::window;
    for (std::size_t i = 0; i < times_s.size(); ++i)
      if (headline_[i].announced_late || (windows && headline_[i].skew_s > tolerated_s)) times_s[i] = NAN;
    return times_s;
  }

  // The headline times after the warm-up.
  std::vector<double> counted() const {
    const std::vector<double> all_s = counted_times();
    std::vector<double> times_s;
    std::copy_if(all_s.begin() + warmup_among(all_s), all_s.end(), std::back_inserter(times_s),
                 [](double time_s) { return !std::isnan(time_s); });
    return times_s;
  }

  // The number of warm-up repetitions in the headline series, such that at least one repetition counts.
  int warmup_among(std::span<const double> times_s) const {
    if (!policy_.warmup) return warmup_of(times_s);
    return std::clamp(*policy_.warmup, 0, std::max(0, static_cast<int>(times_s.size()) - 1));
  }

  // The root decides for all ranks how many repetitions of each series are warm-up.
  void settle_warmup() {
    const std::vector<double> times_s = counted_times();
    for (auto& series : outcome_.series) {
      const bool headline = &series == &outcome_.series.front() && times_s.size() == series.size();
      series.warmup = headline ? warmup_among(times_s) : warmup_of(series.elapsed_s);
      for (std::size_t i = 0; headline && i < times_s.size(); ++i) series.late[i] = std::isnan(times_s[i]);
      MPI_Bcast(&series.warmup, 1, MPI_INT, 0, setting_.world.handle());
    }
    const std::vector<double> results_s = counted();
    if (!results_s.empty())
      outcome_.median_s = median(results_s) / static_cast<double>(outcome_.series.front().operations);
  }

  // The size of the first group of a simulation, whose very first repetition counts, too: 0 if this one is enough
  // or took the whole budget. The root decides for all.
  int simulated_group_size(double elapsed_s) {
    const std::size_t done = outcome_.series.front().size();
    int size = 0;
    if (policy_.budget_s > 0 && elapsed_s >= policy_.budget_s)
      outcome_.stopped = "budget";
    else if (done >= most_repetitions())
      outcome_.stopped = "repetitions";
    else
      size = group_size(done);
    MPI_Bcast(&size, 1, MPI_INT, 0, setting_.world.handle());
    return size;
  }

  // Warm-up that is known beforehand is added.
  std::size_t most_repetitions() const { return policy_.maximum_repetitions + policy_.warmup.value_or(0); }

  int group_size(std::size_t done) const {
    const auto within = [this](double time_s) {
      return static_cast<int>(std::min(time_s / std::max(repetition_s_, 1e-9), 1e6));
    };
    // First as many as may suffice, then the number doubles, as each decision costs a collective operation.
    const int fewest = policy_.minimum_repetitions + policy_.warmup.value_or(1) - static_cast<int>(done);
    const int again = done < 2 ? fewest : static_cast<int>(done);
    const int useful = policy_.warmup ? std::max(fewest, within(policy_.budget_s)) : again;
    const int affordable = within(group_s);
    const int size = std::clamp(std::min({useful, affordable, largest_group}), 1, largest_group);
    return std::min(size, static_cast<int>(most_repetitions()) - static_cast<int>(done));
  }

  // The size of the next group, or 0 if the case is finished. The root decides for all.
  int decide(double elapsed_s) {
    int next = 0;
    if (setting_.world.root()) {
      const double spent_s = elapsed_s - preparing_s_;
      const std::vector<double> times_s = counted();
      const double interval = relative_interval(times_s);
      if (std::isfinite(interval)) outcome_.relative_interval = interval;
      const auto minimum = static_cast<std::size_t>(policy_.minimum_repetitions);
      const bool long_enough = spent_s >= std::min(policy_.minimum_span_s, policy_.budget_s);
      if (times_s.size() >= minimum && long_enough && interval <= policy_.precision) {
        outcome_.stopped = "precision";
      } else if (spent_s >= std::max(policy_.budget_s, times_s.size() >= minimum ? 0 : budget_of_few_s) ||
                 (times_s.size() >= minimum && elapsed_s >= longest_stay * policy_.budget_s)) {
        outcome_.stopped = "budget";
      } else if (outcome_.series.front().size() >= most_repetitions()) {
        outcome_.stopped = "repetitions";
      } else {
        next = std::max(1, group_size(outcome_.series.front().size()));
      }
    }
    MPI_Bcast(&next, 1, MPI_INT, 0, setting_.world.handle());
    return next;
  }

  const Declaration& declaration_;
  Benchmark& benchmark_;
  const SamplingPolicy& policy_;
  const Setting& setting_;
  const Faults& faults_;
  Progress& progress_;
  Window window_;
  LinkCounters links_;
  Synchronization synchronization_;
  double looped_repetition_s_;
  std::uint64_t seed_ = 0;
  int on_these_data_ = 0;  // number of repetitions
  std::int64_t operations_ = 1;
  std::int64_t most_operations_ = 1;  // for which every rank has space
  double repetition_s_ = 0;
  int cold_repetitions_ = 2;  // if that fault is injected
  bool notices_the_meeting_ = false;
  double digest_s_per_byte_ = 0;  // smallest so far
  double preparing_s_ = 0;        // spent on filling and verification
  struct Headline {
    double time_s;
    double skew_s;        // between the entries of the first and the last rank
    bool announced_late;  // some rank learned the start time after the start
  };
  std::vector<Headline> headline_;  // on the root, for every repetition
  std::array<Digests, 3> digests_;  // for each cadence
  std::array<std::size_t, 3> first_on_these_data_{1, 1, 1};
  std::vector<double> entered_s_;  // for every repetition, if a delay is injected
  std::vector<double> checked_s_;
  Cadence last_ = Cadence::isolated;
  std::size_t repetition_ = 1;  // the last one of this cadence
  Outcome outcome_;
};

}  // namespace

void Series::append(const Times& times) {
  agreed_start_s.push_back(times.agreed_start_s);
  entry_s.push_back(times.entry_s);
  elapsed_s.push_back(times.elapsed_s);
  late.push_back(times.late ? 1 : 0);
  for (const auto& [name, value] : times.observed) observed[name].push_back(value);
}

Outcome sample(const Declaration& declaration, Benchmark& benchmark, const SamplingPolicy& policy,
               const Setting& setting, const Faults& faults, Progress& progress) {
  return Sampling(declaration, benchmark, policy, setting, faults, progress).sample();
}

}  // namespace scope
