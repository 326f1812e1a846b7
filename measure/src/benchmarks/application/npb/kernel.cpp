#include "benchmarks/application/npb/kernel.hpp"

#include <cstdio>

#include "benchmarks/algorithm/phase_metrics.hpp"
#include "memory/available.hpp"

namespace scope::npb {
namespace {

// Messages and bytes are those sent by the busiest process; small messages have at most 1 KiB; waits are for
// messages that depend on one another.
std::vector<Metric> kernel_metrics() {
  auto metrics =
      with_phases({seconds("time_s"), result("mops_per_s", "Mop/s", Better::higher).labeled("Mop/s"),
                   result("mops_per_process_per_s", "Mop/s", Better::higher).labeled("Mop/s per rank"),
                   count("exchange_messages"), count("exchange_bytes", "B"), count("exchange_small_messages"),
                   count("collect_messages"), count("collect_bytes", "B"), count("waits"),
                   condition("memory_bytes", "B", Better::lower).labeled("memory per rank")});
  // No root initializes or distributes data: every process generates its own part before the timed part.
  std::erase_if(metrics, [](const Metric& metric) {
    return metric.name == "initialise_s" || metric.name == "distribute_s" || metric.name == "solve_s";
  });
  return metrics;
}

}  // namespace

Work Kernel::work() const {
  return {.bytes = static_cast<double>(everyones_.bytes),
          .flops = counts_flops() ? operations() : 0,
          .messages = static_cast<double>(everyones_.messages),
          .steps = static_cast<double>(iterations())};
}

void Kernel::run(Repetition& repetition) {
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

Check Kernel::verify(std::uint64_t /*seed*/) {
  const auto wanted = published();
  Check check{static_cast<std::int64_t>(wanted.size()), ""};
  for (std::size_t i = 0; i < wanted.size() && check.problem.empty(); ++i)
    check.problem = problem(wanted[i], found_.at(i));
  const Check more = verify_further();
  check.checks += more.checks;
  if (check.problem.empty()) check.problem = more.problem;
  return check;
}

std::span<std::byte> Kernel::received() {
  if (!communicator().root()) return {};
  return std::as_writable_bytes(std::span(found_));
}

std::vector<std::span<const std::byte>> Kernel::computed() {
  auto parts = solution();
  parts.push_back(std::as_bytes(std::span(found_)));
  return parts;
}

void Kernel::require(std::int64_t bytes) {
  constexpr std::int64_t bytes_per_meeting = 160;  // in Phases and its messages
  memory_bytes_ = bytes;
  require_memory(bytes + bytes_per_meeting * static_cast<std::int64_t>(meetings()), communicator());
}

std::string Kernel::problem(const Published& wanted, double found) const {
  const double error = std::abs(found - wanted.value);
  const double allowed = wanted.tolerance * std::abs(wanted.value);
  if (error <= allowed) return "";
  char text[200];
  std::snprintf(text, sizeof text, "%s of class %s is %.13e and must be %.13e within %.1e: off by %.1e",
                wanted.name.c_str(), class_.c_str(), found, wanted.value, allowed, error);
  return text;
}

void Kernel::observe(Repetition& repetition) {
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

Declaration declaration(const KernelDeclaration& kernel,
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
