// What all kernels of the suite share as benchmarks: the rules of timing, the published values that decide
// whether a run was right, Mop/s, phases, messages and memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "benchmark.hpp"
#include "benchmarks/algorithm/phase_metrics.hpp"
#include "benchmarks/application/npb/exchange.hpp"
#include "benchmarks/application/npb/problem_class.hpp"
#include "memory/available.hpp"

namespace scope::npb {

// A value that a right run must lead to.
struct Published {
  std::string name;
  double value;
  double tolerance = 1e-8;  // relative; 0 for what is counted
};

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
    initialise();
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
    for (std::size_t i = 0; i < wanted.size() && check.problem.empty(); ++i) {
      check.problem = problem(wanted[i], found_.at(i));
    }
    const Check more = verify_further();
    check.checks += more.checks;
    if (check.problem.empty()) check.problem = more.problem;
    return check;
  }

  // What the root derived. A corrupted payload is the business of Exchange, during the run.
  std::span<std::byte> received() final {
    if (!communicator().root()) return {};
    return std::as_writable_bytes(std::span(found_));
  }
  bool loops() const final { return false; }

 protected:
  // Everything that is not timed: the data of the problem and, where the suite prescribes it, one iteration.
  virtual void initialise() = 0;
  // The timed part. It begins in Phase::compute.
  virtual void iterate() = 0;
  // What the run led to, in the order of `published`, the same on every process. Collective, never timed.
  virtual std::vector<double> results() = 0;
  virtual std::vector<Published> published() const = 0;
  // Checks that are no comparison with a published number.
  virtual Check verify_further() { return {}; }
  // By the suite's formula.
  virtual double operations() const = 0;
  virtual bool counts_flops() const { return true; }
  virtual int iterations() const = 0;
  // How many meetings of processes the timed part has at most, so that none asks for memory.
  virtual std::size_t meetings() const = 0;

  // Says what this process is about to allocate; throws Unavailable where it does not fit. Collective.
  void require(std::int64_t bytes) {
    constexpr std::int64_t bytes_per_meeting = 160;  // in Phases, and what processes tell each other of it
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
    double slowest_s = repetition.times().elapsed_s;
    MPI_Allreduce(MPI_IN_PLACE, &slowest_s, 1, MPI_DOUBLE, MPI_MAX, communicator().handle());
    const double rate = operations() / 1e6 / slowest_s;
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
    std::int64_t sums[2] = {exchanged.messages + collected.messages, exchanged.bytes + collected.bytes};
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_INT64_T, MPI_SUM, communicator().handle());
    everyones_ = {sums[0], sums[1]};
  }

  Exchange exchange_;
  std::string class_;
  std::int64_t memory_bytes_ = 0;
  Sent everyones_;
  std::vector<double> found_;
};

// The metrics of every kernel. Messages and bytes are those that the busiest process sends; small messages
// have 1 KiB at most; waits are for messages that follow one another.
inline std::vector<Metric> kernel_metrics() {
  auto metrics =
      with_phases({seconds("time_s"), result("mops_per_s", "Mop/s", Better::higher).labelled("Mop/s"),
                   result("mops_per_process_per_s", "Mop/s", Better::higher).labelled("Mop/s of a process"),
                   count("exchange_messages"), count("exchange_bytes", "B"), count("exchange_small_messages"),
                   count("collect_messages"), count("collect_bytes", "B"), count("waits"),
                   condition("memory_bytes", "B", Better::lower).labelled("memory of a process")});
  // No root initialises or distributes anything: every process makes its own part before the time begins.
  std::erase_if(metrics, [](const Metric& metric) {
    return metric.name == "initialise_s" || metric.name == "distribute_s" || metric.name == "solve_s";
  });
  return metrics;
}

// What the operations are that a kernel counts.
enum class Operations { floating_point, others };

// The declaration of a kernel that runs on any number of processes.
template <class Made, class Problem>
Declaration declaration(const char* name, const char* title, const char* summary,
                        const PerClass<Problem>& problems, std::vector<Parameter> further = {},
                        Operations operations = Operations::floating_point) {
  std::vector<Parameter> parameters{problem_class(problems)};
  const bool varied = std::any_of(further.begin(), further.end(),
                                  [](const Parameter& parameter) { return parameter.name == "variant"; });
  const std::string variants = varied ? " variant=plain,tuned" : "";
  parameters.insert(parameters.end(), further.begin(), further.end());
  std::vector<Rung> rungs{communication()};
  if (operations == Operations::floating_point) rungs.push_back(arithmetic("mops_per_s"));
  return {.name = name,
          .title = title,
          .summary = summary,
          .rungs = std::move(rungs),
          .parameters = std::move(parameters),
          .definition = Definition::max_rank,
          .metrics = kernel_metrics(),
          .sweeps = {{"standard", "ranks=1,2,4 class=S"},
                     {"advanced", "ranks=powers class=W" + variants},
                     {"advanced", "ranks=powers class=A" + variants}},
          .make = make<Made>};
}

}  // namespace scope::npb
