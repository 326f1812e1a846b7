// The contract between a benchmark and the program: what a benchmark declares, and what it must be able to
// do.
//
// A benchmark knows only its own exchange. Repetition, clocks, stopping and output are not its business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"
#include "sampling/repetition.hpp"
#include "unavailable.hpp"

namespace scope {

// What one operation moves and computes, over all ranks. Rates are derived from it.
struct Work {
  double bytes = 0;
  double flops = 0;
  double messages = 0;
  double steps = 0;  // what follows one after another inside it: hops round a ring, accesses of a chain
};

// What a verification found on this rank.
struct Check {
  std::int64_t checks = 0;  // values compared
  std::string problem;      // empty when all were right
};

// The parameters of one case, checked against their declaration, defaults filled in.
class Parameters {
 public:
  Parameters(std::map<std::string, std::int64_t> integers, std::map<std::string, std::string> choices)
      : integers_(std::move(integers)), choices_(std::move(choices)) {}

  std::int64_t integer(const std::string& name) const { return integers_.at(name); }
  const std::string& choice(const std::string& name) const { return choices_.at(name); }

 private:
  std::map<std::string, std::int64_t> integers_;
  std::map<std::string, std::string> choices_;
};

// One case of a benchmark on one rank. The constructor prepares (allocates, connects; collective), the
// destructor releases.
class Benchmark {
 public:
  virtual ~Benchmark() = default;

  virtual Work work() const = 0;

  // Puts new contents, told by `seed`, into what will be sent or computed. Never timed.
  virtual void fill(std::uint64_t /*seed*/) {}

  // Does the operation as often as `repetition` asks; what stands inside `repetition.time` is timed.
  virtual void run(Repetition& repetition) = 0;

  // Compares what the last run left behind with what `fill(seed)` must lead to. Collective, never timed.
  virtual Check verify(std::uint64_t seed) = 0;

  // What the last run received or computed on this rank; tests corrupt it to see that `verify` notices.
  virtual std::span<std::byte> received() { return {}; }

  // False where every operation needs fresh buffers, so that it cannot be looped inside one timing.
  virtual bool loops() const { return true; }
};

// How a figure is made of time. See docs/method/time.md.
enum class Definition { half_round_trip, global, max_rank, local };

enum class Quantity { time, time_per_step, bytes, flops, messages, observed };

struct Metric {
  std::string name;
  std::string unit;
  bool lower_is_better;
  Quantity quantity;
};

struct Parameter {
  std::string name;
  std::string meaning;
  std::string unit;
  std::int64_t default_integer = 0;
  std::int64_t minimum = 0;
  std::int64_t maximum = 0;
  std::vector<std::string> choices;  // the first is the default; empty for an integer

  bool is_choice() const { return !choices.empty(); }
};

enum class RankRule { any, even, square, one_or_seven };  // seven: the products of Strassen

struct Sweep {
  std::string module;  // baseline, standard or advanced
  std::string cases;   // ranks=2 mode=standard,ready message_bytes=0,1Ki
};

struct Declaration {
  std::string name;
  std::string summary;
  int minimum_ranks = 1;
  std::optional<int> maximum_ranks;
  RankRule rank_rule = RankRule::any;
  std::vector<Parameter> parameters;
  Definition definition;  // of the time behind every metric's headline figure
  std::vector<Metric> metrics;
  std::vector<Sweep> sweeps;
  std::string unavailable_reason;  // why this build cannot run it; empty when it can
  std::function<std::unique_ptr<Benchmark>(const Parameters&, const Communicator&)> make;
};

inline Parameter integer(std::string name, std::string unit, std::int64_t default_value, std::int64_t minimum,
                         std::int64_t maximum, std::string meaning) {
  return {std::move(name), std::move(meaning), std::move(unit), default_value, minimum, maximum, {}};
}
inline Parameter choice(std::string name, std::vector<std::string> choices, std::string meaning) {
  return {std::move(name), std::move(meaning), "", 0, 0, 0, std::move(choices)};
}

inline Metric seconds(std::string name) {
  return {std::move(name), "s", true, Quantity::time};
}
inline Metric seconds_per_step(std::string name) {
  return {std::move(name), "s", true, Quantity::time_per_step};
}
// A figure that the benchmark observes itself, on every rank; the largest over the ranks counts.
inline Metric observed(std::string name, std::string unit, bool lower_is_better) {
  return {std::move(name), std::move(unit), lower_is_better, Quantity::observed};
}
inline Metric observed_seconds(std::string name) {
  return observed(std::move(name), "s", true);
}
inline Metric bytes_per_second() {
  return {"bandwidth_bytes_per_s", "B/s", false, Quantity::bytes};
}
inline Metric flops_per_second() {
  return {"flops_per_s", "flop/s", false, Quantity::flops};
}
inline Metric messages_per_second() {
  return {"message_rate_per_s", "1/s", false, Quantity::messages};
}

// A namespace-scope Registration makes a benchmark known; nothing else has to be touched.
class Registration {
 public:
  explicit Registration(Declaration declaration,
                        std::source_location where = std::source_location::current());
};

}  // namespace scope
