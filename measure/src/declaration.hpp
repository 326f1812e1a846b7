// What a benchmark declares: data that the program lists (`--action=list`) and that planning, models,
// findings and reports ask by role, routine, rung or family. No program outside this folder needs to know a
// benchmark's name.
//
// Settings are written `name=value name=value,value`: several values are alternatives, and `name=*` is any.
// Parameters that are left out have their default, except those of role size; `*` alone leaves all of them
// free.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scope {

// How a figure is derived from times. See docs/method/time.md.
enum class Definition { half_round_trip, global, max_rank, local };

enum class Role {
  size,      // extent of the problem: message_bytes, n, class
  problem,   // what is computed or sent: input, precision, operator
  method,    // how it is computed: variant, block
  parallel,  // how ranks share the work and exchange data; no effect on one rank: grid_rows, broadcast
  layout,    // how data lie in memory: fresh or reused buffers, rows or columns
  call,      // how MPI, or the file system, is called: mode, completion, window, root
  path,      // protocol and settings of the transport
};

struct Parameter {
  std::string name;
  Role role;
  std::string label;  // for people: `message size`
  std::string meaning;
  std::string unit;
  std::int64_t default_integer = 0;
  std::int64_t minimum = 0;
  std::int64_t maximum = 0;
  std::vector<std::string> choices;  // the first is the default; empty for an integer

  bool is_choice() const { return !choices.empty(); }
  Parameter labelled(std::string_view words) &&;  // where the name does not say it: n, shift
};

// Makes the parameters of a role: `size("message_bytes", "B", 1024, 0, 1 << 30, "payload of each message")`,
// `method("variant", {"plain", "tuned"}, "plain loops, or the BLAS")`.
struct ParametersOf {
  Role role;

  Parameter operator()(std::string_view name, std::string_view unit, std::int64_t default_value,
                       std::int64_t minimum, std::int64_t maximum, std::string_view meaning) const;
  Parameter operator()(std::string_view name, std::initializer_list<const char*> choices,
                       std::string_view meaning) const;
  Parameter operator()(std::string_view name, const std::vector<std::string>& choices,
                       std::string_view meaning) const;
};
inline constexpr ParametersOf size{Role::size};
inline constexpr ParametersOf problem{Role::problem};
inline constexpr ParametersOf method{Role::method};
inline constexpr ParametersOf parallel{Role::parallel};
inline constexpr ParametersOf layout{Role::layout};
inline constexpr ParametersOf call{Role::call};
inline constexpr ParametersOf path{Role::path};

// What a metric is derived from: the time, the time of each declared step, declared work over the time, or
// values that the benchmark observes itself on every rank (the largest over the ranks counts).
enum class Quantity { time, time_per_step, bytes, flops, messages, observed };

enum class MetricRole {
  result,     // what the benchmark is run for
  phase,      // a part of the time
  count,      // messages, bytes, packets
  condition,  // under which circumstances: a granted buffer, an imbalance, a residual
};

enum class Better { lower, higher };

struct Metric {
  std::string name;
  std::string unit;
  Better better;
  Quantity quantity;
  MetricRole role;
  std::string label;  // for people: `bandwidth`

  Metric labelled(std::string_view words) &&;
};

// Derived from the time and the declared work.
Metric seconds(std::string_view name);
Metric seconds_per_step(std::string_view name);
Metric bytes_per_second();
Metric flops_per_second();
Metric messages_per_second();
// Observed.
Metric result(std::string_view name, std::string_view unit, Better better);
Metric result_seconds(std::string_view name);
Metric phase(std::string_view name);
Metric count(std::string_view name, std::string_view unit = "1");
Metric condition(std::string_view name, std::string_view unit, Better better);

// The numbers of ranks that a benchmark can use.
struct Ranks {
  int minimum = 1;
  std::optional<int> maximum = {};
  int multiple_of = 1;
  bool square = false;
  std::vector<int> one_of = {};  // empty: no restriction

  static Ranks any() { return {}; }
  static Ranks at_least(int count) { return {.minimum = count}; }
  static Ranks at_most(int count) { return {.maximum = count}; }
  static Ranks exactly(int count) { return {.minimum = count, .maximum = count}; }
  static Ranks even() { return {.minimum = 2, .multiple_of = 2}; }
  static Ranks squares() { return {.square = true}; }
  static Ranks among(std::vector<int> counts);  // ascending

  bool allow(int count) const;
  std::string description() const;  // "an even number, at least 2"
};

// What a benchmark needs beyond MPI.
enum class Requirement { blas, lapack, scalapack, spawn, threads, file_system };

// The routines of MPI that a benchmark stands for, comma-separated, and the settings with which it does.
struct Binding {
  enum class Bytes { per_block, total };

  std::string routines;
  std::string settings = {};
  // Whether the routine's buffer on a rank holds message_bytes, or the blocks of all ranks, of message_bytes
  // each.
  Bytes bytes = Bytes::per_block;
};

// Where a benchmark stands on a ladder.
enum class Pattern {
  ping_pong,      // one message and its answer
  stream,         // messages one after another in one direction
  transfer,       // payload that an operation delivers
  communication,  // bytes of an algorithm over its communication time
  arithmetic,     // floating point rate
  memory,         // memory bandwidth
  copy,           // memory copy, the limit of messages inside a host
  pair_matrix,    // messages between every two ranks
};

struct Rung {
  Pattern pattern;
  std::string metric = {};    // empty: any result
  std::string settings = {};  // of the cases that stand there
  std::string layer = {};  // empty: the level; `limit` where the benchmark is what the ladder is held against
};
Rung communication();                                      // metric communicate_s
Rung arithmetic(std::string_view metric = "flops_per_s");  // of all cases

// What the busiest rank does, step by step. `count`, `bytes` and `ranks` are expressions of the parameters
// and of the number of ranks p, with + - * / ^ ( ) and sqrt, log2, ceil, floor, min, max.
struct Step {
  enum class Kind { work, messages, collective };

  std::string phase;
  Kind kind;
  std::string routine = {};  // of MPI, for a collective
  std::string count = "1";
  std::string bytes = "0";
  std::string ranks = "p";  // that take part
  bool hidden = false;      // behind the computation
};

// Cases of a module: `ranks=2 mode=standard,ready message_bytes=0,1Ki`.
struct Sweep {
  std::string module;  // baseline, standard or advanced
  std::string cases;
};

}  // namespace scope
