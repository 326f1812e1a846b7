// The common part of all NPB kernels: timing rules, published values that verify a run, Mop/s, phases, messages
// and memory.
#pragma once

#include <cstdio>

#include "benchmark.hpp"
#include "benchmarks/algorithm/phase_metrics.hpp"
#include "benchmarks/application/npb/exchange.hpp"
#include "memory/available.hpp"

namespace scope::npb {

// NPB's problem classes, and tables with an entry for each.
enum class ProblemClass { S, W, A, B, C };
constexpr int problem_classes = 5;

// One entry for each class, in the order of the classes.
template <class Entry>
using PerClass = std::array<Entry, problem_classes>;

inline ProblemClass problem_class_of(const Parameters& parameters) {
  return static_cast<ProblemClass>(std::string("SWABC").find(parameters.choice("class")));
}

template <class Entry>
const Entry& of_class(const PerClass<Entry>& table, const Parameters& parameters) {
  return table[static_cast<std::size_t>(problem_class_of(parameters))];
}

// The parameter, described with the size of each class of `table`: `S 12^3 points, W ...`.
template <class Entry>
Parameter problem_class(const PerClass<Entry>& table) {
  std::string meaning = "problem class of NPB";
  for (std::size_t i = 0; i < table.size(); ++i)
    meaning += std::string(i == 0 ? ": " : ", ") + "SWABC"[i] + ' ' + table[i].size();
  return size("class", "S,W,A,B,C", kept(meaning));
}

// A value that a correct run must reproduce.
struct Published {
  std::string name;
  double value;
  double tolerance = 1e-8;  // relative; 0 for counts
};

// Messages and bytes are what the busiest process sends; small messages have at most 1 KiB; waits are for
// messages that depend on one another.
inline std::vector<Metric> kernel_metrics() {
  auto metrics =
      with_phases({seconds("time_s"), result("mops_per_s", "Mop/s", Better::higher).labeled("Mop/s"),
                   result("mops_per_process_per_s", "Mop/s", Better::higher).labeled("Mop/s per rank"),
                   count("exchange_messages"), count("exchange_bytes", "B"), count("exchange_small_messages"),
                   count("collect_messages"), count("collect_bytes", "B"), count("waits"),
                   condition("memory_bytes", "B", Better::lower).labeled("memory per rank")});
  // Data are not initialized or distributed by a root: every process generates its part before the timed part.
  std::erase_if(metrics, [](const Metric& metric) {
    return metric.name == "initialize_s" || metric.name == "distribute_s" || metric.name == "solve_s";
  });
  return metrics;
}

class Kernel : public Benchmark {
 public:
  Kernel(const std::string& benchmark, const Parameters& parameters, const Communicator& communicator)
      : exchange_(benchmark, communicator), class_(parameters.choice("class")) {}

  // Messages and bytes of all processes are known only after a run.
  Work work() const override {
    return {.bytes = static_cast<double>(everyones_.bytes),
            .flops = counts_flops() ? operations() : 0,
            .messages = static_cast<double>(everyones_.messages),
            .steps = static_cast<double>(iterations())};
  }
  void run(Repetition& repetition) final {
    exchange_.begin(nullptr);
    initialize();
    std::optional<Phases> phases;
    repetition.time([&] {
      phases.emplace(repetition, meetings());
      exchange_.begin(&*phases);
      iterate();
      phases->leave();
    });
    phases->observe(repetition, communicator());
    observe(repetition);
    exchange_.begin(nullptr);
    found_ = results();
  }
  Check verify(std::uint64_t /*seed*/) final {
    const auto wanted = published();
    Check check{static_cast<std::int64_t>(wanted.size()), ""};
    for (std::size_t i = 0; i < wanted.size() && check.problem.empty(); ++i)
      check.problem = problem(wanted[i], found_.at(i));
    const Check more = verify_further();
    check.checks += more.checks;
    if (check.problem.empty()) check.problem = more.problem;
    return check;
  }
  // The results on the root. Messages are corrupted by Exchange during the run.
  std::span<std::byte> received() final {
    if (!communicator().root()) return {};
    return std::as_writable_bytes(std::span(found_));
  }
  std::vector<std::span<const std::byte>> computed() final {
    auto parts = solution();
    parts.push_back(std::as_bytes(std::span(found_)));
    return parts;
  }
  bool loops() const final { return false; }

 protected:
  // The untimed part: generates the data of the problem and, if NPB prescribes it, does one iteration.
  virtual void initialize() = 0;
  // The timed part. It begins in Phase::compute.
  virtual void iterate() = 0;
  // The results of the run, in the order of `published`, the same on every process. Collective, never timed.
  virtual std::vector<double> results() = 0;
  virtual std::vector<Published> published() const = 0;
  // All data that the run left on this process, because results show some errors only partly or not at all.
  virtual std::vector<std::span<const std::byte>> solution() = 0;
  // Checks other than comparisons with published numbers.
  virtual Check verify_further() { return {}; }
  // Number of operations by NPB's formula.
  virtual double operations() const = 0;
  virtual bool counts_flops() const { return true; }
  virtual int iterations() const = 0;
  // The maximum number of meetings in the timed part, reserved so that no meeting allocates memory.
  virtual std::size_t meetings() const = 0;

  // Announces the memory that this process is about to allocate; throws Unavailable if it does not fit.
  // Collective.
  void require(std::int64_t bytes) {
    constexpr std::int64_t bytes_per_meeting = 160;  // in Phases and in its messages
    memory_bytes_ = bytes;
    require_memory(bytes + bytes_per_meeting * static_cast<std::int64_t>(meetings()), communicator());
  }

  Exchange& exchange() { return exchange_; }
  const Communicator& communicator() const { return exchange_.communicator(); }
  int ranks() const { return communicator().size(); }
  int rank() const { return communicator().rank(); }

 private:
  std::string problem(const Published& wanted, double found) const {
    const double error = std::abs(found - wanted.value);
    const double allowed = wanted.tolerance * std::abs(wanted.value);
    if (error <= allowed) return "";
    char text[200];
    std::snprintf(text, sizeof text, "%s of class %s is %.13e and must be %.13e within %.1e: off by %.1e",
                  wanted.name.c_str(), class_.c_str(), found, wanted.value, allowed, error);
    return text;
  }
  void observe(Repetition& repetition) {
    const double rate = operations() / 1e6 / communicator().largest(repetition.times().elapsed_s);
    repetition.observe("mops_per_s", rate);
    repetition.observe("mops_per_process_per_s", rate / ranks());
    const Sent& exchanged = exchange_.exchanged();
    const Sent& collected = exchange_.collected();
    repetition.observe("exchange_messages", static_cast<double>(exchanged.messages));
    repetition.observe("exchange_bytes", static_cast<double>(exchanged.bytes));
    repetition.observe("exchange_small_messages", static_cast<double>(exchanged.small));
    repetition.observe("collect_messages", static_cast<double>(collected.messages));
    repetition.observe("collect_bytes", static_cast<double>(collected.bytes));
    repetition.observe("waits", static_cast<double>(exchange_.waits()));
    repetition.observe("memory_bytes", static_cast<double>(memory_bytes_));
    everyones_ = {communicator().sum(exchanged.messages + collected.messages),
                  communicator().sum(exchanged.bytes + collected.bytes)};
  }

  Exchange exchange_;
  std::string class_;
  std::int64_t memory_bytes_ = 0;
  Sent everyones_;
  std::vector<double> found_;
};

// The kind of operations that a kernel counts.
enum class Operations { floating_point, others };

// The declaration of a kernel that runs on any number of processes. `problem_class`: see ProblemClass.
struct KernelDeclaration {
  Text name;
  Text title;
  Text summary;
  Parameter problem_class;
  std::vector<Parameter> further = {};
  Operations operations = Operations::floating_point;
};
inline Declaration declaration(const KernelDeclaration& kernel,
                               std::unique_ptr<Benchmark> (*make)(const Parameters&, const Communicator&)) {
  const bool varied = std::any_of(kernel.further.begin(), kernel.further.end(),
                                  [](const Parameter& parameter) { return parameter.name == "variant"; });
  std::vector<Rung> rungs{communication()};
  if (kernel.operations == Operations::floating_point) rungs.push_back(arithmetic("mops_per_s"));
  return {.name = kernel.name,
          .title = kernel.title,
          .summary = kernel.summary,
          .rungs = std::move(rungs),
          .parameters = together({{kernel.problem_class}, kernel.further}),
          .definition = Definition::max_rank,
          .metrics = kernel_metrics(),
          .sweeps = {{"standard", "ranks=1,2,4 class=S"},
                     {"advanced", varied ? "ranks=powers class=W variant=plain,tuned" : "ranks=powers class=W"},
                     {"advanced", varied ? "ranks=powers class=A variant=plain,tuned" : "ranks=powers class=A"}},
          .make = make};
}

}  // namespace scope::npb
