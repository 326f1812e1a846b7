// The contract between a benchmark and the program.
//
// A benchmark knows only its own exchange. Repetition, clocks, stopping and output are not its business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "declaration.hpp"
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

struct Declaration {
  std::string name;     // level.short_name
  std::string title;    // for people: `ping-pong`
  std::string summary;  // one line
  // Benchmarks that compute the same thing; with equal sizes and problems their times are comparable.
  std::string family = {};  // empty: the short name
  std::vector<Requirement> needs = {};
  Ranks ranks = Ranks::any();
  std::vector<Binding> routines = {};
  std::vector<Rung> rungs = {};
  std::vector<Step> costs = {};
  std::vector<Parameter> parameters = {};
  Definition definition;  // of the time behind every metric's headline figure
  std::vector<Metric> metrics;
  std::vector<Sweep> sweeps;
  std::function<std::unique_ptr<Benchmark>(const Parameters&, const Communicator&)> make;
};

// For `Declaration::make`.
template <class Made>
std::unique_ptr<Benchmark> make(const Parameters& parameters, const Communicator& communicator) {
  if constexpr (std::is_constructible_v<Made, const Parameters&, const Communicator&>) {
    return std::make_unique<Made>(parameters, communicator);
  } else {
    return std::make_unique<Made>(parameters);
  }
}

// A namespace-scope Registration makes a benchmark known; nothing else has to be touched.
class Registration {
 public:
  explicit Registration(Declaration declaration,
                        std::source_location where = std::source_location::current());
};

}  // namespace scope
