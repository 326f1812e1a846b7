// The interface between a benchmark and the program.
//
// A benchmark implements only its own exchange; repetition, clocks, stopping and output are handled elsewhere.
// This header includes what nearly every benchmark needs, so benchmarks do not include those headers again.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "declaration.hpp"
#include "memory/buffer.hpp"
#include "memory/message_slots.hpp"
#include "memory/not_copied.hpp"
#include "mpi/communicator.hpp"
#include "mpi/optional.hpp"
#include "sampling/repetition.hpp"
#include "text/words.hpp"
#include "unavailable.hpp"

namespace scope {

// Data moved and operations computed by one operation, over all ranks. Rates are derived from these.
struct Work {
  double bytes = 0;
  double flops = 0;
  double messages = 0;
  double steps = 0;  // dependent steps inside the operation: hops around a ring, accesses of a chain
};

// The result of a verification on this rank.
struct Check {
  std::int64_t checks = 0;  // values compared
  std::string problem;      // empty when all values were correct
};

// The parameters of one case, checked against their declaration, with defaults filled in.
class Parameters {
 public:
  using Integers = std::map<std::string, std::int64_t, std::less<>>;
  using Choices = std::map<std::string, std::string, std::less<>>;

  Parameters(Integers integers, Choices choices);

  std::int64_t integer(std::string_view name) const;
  const std::string& choice(std::string_view name) const;

 private:
  Integers integers_;
  Choices choices_;
};

// Minimum number of operations in a loop, if there is buffer space for them: each may begin before the previous
// one has ended on every rank. Loops of slow operations have more, if time permits: operations take longer until
// ranks that began together reach the steady state of a program.
inline constexpr std::int64_t operations_back_to_back = 4;
inline constexpr std::int64_t slow_operations_back_to_back = 16;

// One case of a benchmark on one rank. The constructor prepares (allocates, connects; collective), the
// destructor releases.
class Benchmark : NotCopied {
 public:
  virtual ~Benchmark() = default;

  virtual Work work() const = 0;

  // Puts new contents, determined by `seed`, into the buffers to be sent or computed on. Never timed.
  virtual void fill(std::uint64_t /*seed*/) {}

  // Does the operation as often as `repetition` requests; only the code inside `repetition.time` is timed. Each
  // operation of a repetition receives into its own buffer, so that none overwrites an error of another.
  virtual void run(Repetition& repetition) = 0;

  // Compares the results of the last run with the contents expected after `fill(seed)`. Collective, never timed.
  virtual Check verify(std::uint64_t seed) = 0;

  // The data on this rank that `verify` checks; tests corrupt them to prove that it does.
  virtual std::span<std::byte> received() { return {}; }

  // All other data that the last run received or computed on this rank: blocks from which a result was collected,
  // the solution from which a checksum was computed, intermediate results. After every repetition, the sampler
  // compares both with the data of the first repetition of the group.
  virtual std::vector<std::span<const std::byte>> computed() { return {}; }

  // Whether every run since `fill` leaves bitwise identical data. False if the output of one operation is the
  // input of the next, so that errors persist until `verify`, or if rounding depends on the order in which
  // messages arrive.
  virtual bool repeats() const { return true; }

  // Fraction of the received data that is still in memory at the end of a repetition of `calls` operations: below
  // 1 if messages overwrite each other. The same on every rank.
  virtual double kept_share([[maybe_unused]] std::int64_t calls) const { return 1; }

  // Maximum number of operations in one repetition, limited by the space to receive.
  virtual std::int64_t most_operations() const { return 1'000'000; }

  // Whether `message_buffers` are flushed from all caches before every repetition, which is then one operation.
  virtual bool cold() const { return false; }
  virtual std::vector<std::span<const std::byte>> message_buffers() { return {}; }

  // Settings that a library granted to this case on this rank, recorded with the case. Only rank 0's are used.
  virtual std::vector<ControlVariable> settings() const { return {}; }

  // False if every operation needs new buffers: each timing then covers exactly one operation.
  virtual bool loops() const { return true; }

  // True if `run` has preparations before the timed part, such as writing a file that is then read: ranks arrive
  // at the timed part at different times, and would miss an agreed start.
  virtual bool prepares() const { return false; }
};

struct Declaration {
  Text name;     // level.short_name
  Text title;    // for readers: `ping-pong`
  Text summary;  // one line
  // Benchmarks that compute the same result; with equal sizes and problems their times are comparable.
  Text family = {};  // empty: the short name
  std::vector<Requirement> needs = {};
  Ranks ranks = Ranks::any();
  std::vector<Binding> routines = {};
  std::vector<Rung> rungs = {};
  std::vector<Step> costs = {};
  std::vector<Parameter> parameters = {};
  Definition definition;  // of the time from which every metric's headline value is derived
  std::vector<Metric> metrics;
  std::vector<Sweep> sweeps;
  std::function<std::unique_ptr<Benchmark>(const Parameters&, const Communicator&)> make;

  ~Declaration();
};

// For `Declaration::make`.
template <class Made>
std::unique_ptr<Benchmark> make(const Parameters& parameters, const Communicator& communicator) {
  if constexpr (std::is_constructible_v<Made, const Parameters&, const Communicator&>)
    return std::make_unique<Made>(parameters, communicator);
  else
    return std::make_unique<Made>(parameters);
}

// For a benchmark with a parameter `precision`: double or single.
template <template <class> class Made>
std::unique_ptr<Benchmark> make_in_precision(const Parameters& parameters, const Communicator& communicator) {
  if (parameters.choice("precision") == "single") return make<Made<float>>(parameters, communicator);
  return make<Made<double>>(parameters, communicator);
}

// A namespace-scope Registration makes a benchmark known; no other file lists it.
class Registration {
 public:
  explicit Registration(Declaration declaration, std::source_location where = std::source_location::current());
};

}  // namespace scope
