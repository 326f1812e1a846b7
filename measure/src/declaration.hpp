// The declaration of a benchmark: data that the program lists (`--action=list`) and that planning, models,
// findings and reports query by role, routine, rung or family. Code outside this directory does not need names of
// benchmarks.
//
// Settings are written `name=value name=value,value`: several values are alternatives, and `name=*` is any value.
// Omitted parameters have their default, except those of role size, which are free; `*` alone leaves all free.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scope {

// A text that exists as long as the program: a literal, or the result of `kept`.
class Text : public std::string_view {
 public:
  constexpr Text(const char* literal = "") : std::string_view(literal) {}

 private:
  friend Text kept(std::string text);
  explicit constexpr Text(std::string_view kept) : std::string_view(kept) {}
};

// Keeps a text created at program start, such as the list of transports.
Text kept(std::string text);

// How a value is derived from times. See docs/method/time.md.
enum class Definition { half_round_trip, global, max_rank, local };

enum class Role {
  size,      // extent of the problem: message_bytes, n, class
  problem,   // the computed or sent data: input, precision, operator
  method,    // the way of computation: variant, block
  parallel,  // division of work and exchange of data between ranks; no effect on one rank: grid_rows, broadcast
  layout,    // data in memory: cold or warm buffers, rows or columns
  call,      // calls of MPI or the file system: mode, completion, window, root
  path,      // protocol and settings of the transport
};

struct Parameter {
  Text name;
  Role role;
  Text meaning;
  Text unit = "";
  std::int64_t default_integer = 0;
  std::int64_t minimum = 0;
  std::int64_t maximum = 0;
  Text choices = "";  // `plain,tuned`, where the first is the default; empty for an integer
  Text given_label = "";
  Text words = "";

  constexpr bool is_choice() const { return !choices.empty(); }
  // Sets a label if the name alone is not the common term: n, shift.
  constexpr Parameter labeled(Text given) const {
    Parameter parameter = *this;
    parameter.given_label = given;
    return parameter;
  }
  // Sets the words for a value in the label of a case. For choices: words for each of them, separated by commas;
  // an empty one is omitted (`,tuned`). For an integer: words around it (`{} keys`), after words for single values
  // (`0=all keys,{} keys`). Without this, labels omit default values, and show other values with the parameter's
  // label.
  constexpr Parameter worded(Text given) const {
    Parameter parameter = *this;
    parameter.words = given;
    return parameter;
  }
  std::string label() const;  // `message_bytes`: message size
};

// Makes parameters of a role: `size("message_bytes", "B", 1024, 0, 1 << 30, "payload of each message")`,
// `method("variant", "plain,tuned", "plain loops, or the BLAS")`.
struct ParametersOf {
  Role role;

  constexpr Parameter operator()(Text name, Text unit, std::int64_t default_value, std::int64_t minimum,
                                 std::int64_t maximum, Text meaning) const {
    return {name, role, meaning, unit, default_value, minimum, maximum};
  }
  constexpr Parameter operator()(Text name, Text choices, Text meaning) const {
    return {.name = name, .role = role, .meaning = meaning, .choices = choices};
  }
};
inline constexpr ParametersOf size{Role::size};
inline constexpr ParametersOf problem{Role::problem};
inline constexpr ParametersOf method{Role::method};
inline constexpr ParametersOf parallel{Role::parallel};
inline constexpr ParametersOf layout{Role::layout};
inline constexpr ParametersOf call{Role::call};
inline constexpr ParametersOf path{Role::path};

// Concatenates lists of parameters: together({{size(...), method(...)}, grid_parameters()}).
std::vector<Parameter> together(std::initializer_list<std::vector<Parameter>> lists);

// The source of a metric: the time, the time of each declared step, declared work over the time (moved_bytes: the bytes without each rank's
// copy to itself, (p-1)/p for p communicating ranks), or values that the benchmark observes on every rank, of which the largest counts.
enum class Quantity { time, time_per_step, bytes, moved_bytes, flops, messages, observed };

enum class MetricRole {
  result,     // the purpose of the benchmark
  phase,      // a part of the time
  count,      // messages, bytes, packets
  condition,  // circumstances, such as a granted buffer, an imbalance, a residual
};

enum class Better { lower, higher };

struct Metric {
  Text name;
  Text unit;
  Better better;
  Quantity quantity;
  MetricRole role;
  Text given_label = "";

  constexpr Metric labeled(Text words) const {
    Metric metric = *this;
    metric.given_label = words;
    return metric;
  }
  std::string label() const;  // `send_overhead_s`: send overhead
};

// Metrics derived from the time and the declared work.
constexpr Metric seconds(Text name) { return {name, "s", Better::lower, Quantity::time, MetricRole::result}; }
constexpr Metric seconds_per_step(Text name) {
  return {name, "s", Better::lower, Quantity::time_per_step, MetricRole::result};
}
constexpr Metric bytes_per_second() {
  return {"bandwidth_bytes_per_s", "B/s", Better::higher, Quantity::bytes, MetricRole::result, "bandwidth"};
}
// For declared bytes that are the payload of all ranks, including the copy of one of them to itself.
constexpr Metric moved_bytes_per_second() {
  return {"bandwidth_bytes_per_s", "B/s", Better::higher, Quantity::moved_bytes, MetricRole::result, "bandwidth"};
}
constexpr Metric effective_bandwidth() {
  return {"effective_bandwidth_bytes_per_s",
          "B/s",
          Better::higher,
          Quantity::bytes,
          MetricRole::result,
          "effective bandwidth"};
}
constexpr Metric flops_per_second() {
  return {"flops_per_s", "flop/s", Better::higher, Quantity::flops, MetricRole::result, "arithmetic rate"};
}
constexpr Metric messages_per_second() {
  return {"message_rate_per_s", "1/s", Better::higher, Quantity::messages, MetricRole::result, "message rate"};
}
// Metrics that the benchmark observes.
constexpr Metric result(Text name, Text unit, Better better) {
  return {name, unit, better, Quantity::observed, MetricRole::result};
}
constexpr Metric result_seconds(Text name) { return result(name, "s", Better::lower); }
constexpr Metric phase(Text name) { return {name, "s", Better::lower, Quantity::observed, MetricRole::phase}; }
constexpr Metric count(Text name, Text unit = "1") {
  return {name, unit, Better::lower, Quantity::observed, MetricRole::count};
}
constexpr Metric condition(Text name, Text unit, Better better) {
  return {name, unit, better, Quantity::observed, MetricRole::condition};
}

// The numbers of ranks that a benchmark can use.
struct Ranks {
  int minimum = 1;
  std::optional<int> maximum = {};
  int multiple_of = 1;
  bool square = false;
  Text one_of = "";  // `1,7`, ascending; empty: no restriction

  static constexpr Ranks any() { return {}; }
  static constexpr Ranks at_least(int count) { return {.minimum = count}; }
  static constexpr Ranks at_most(int count) { return {.maximum = count}; }
  static constexpr Ranks exactly(int count) { return {.minimum = count, .maximum = count}; }
  static constexpr Ranks even() { return {.minimum = 2, .multiple_of = 2}; }
  static constexpr Ranks squares() { return {.square = true}; }
  static Ranks among(Text counts);

  bool allow(int count) const;
  std::string description() const;  // "an even number, at least 2"
};

// Requirements of a benchmark beyond MPI.
enum class Requirement { blas, lapack, scalapack, spawn, threads, file_system, device };

// The MPI routines that a benchmark represents, separated by commas, and the settings that apply to them.
struct Binding {
  enum class Bytes { per_block, total };

  Text routines;
  Text settings = "";
  // Whether message_bytes is the size of the routine's whole buffer on a rank (`total`), or of each of its blocks
  // for all ranks.
  Bytes bytes = Bytes::per_block;
  // For one-sided routines: the calls that end an epoch and that begin one; the time of a case includes both.
  Text ends_epoch = "";
  Text begins_epoch = "";
  // The parameter for the size of each call if a case makes many calls; empty if a case is one call.
  Text call_size = "";
};

// The place of a benchmark on a ladder.
enum class Pattern {
  ping_pong,          // one message and its answer
  stream,             // messages one after another in one direction
  transfer,           // payload delivered by an operation
  communication,      // bytes of an algorithm divided by its communication time
  arithmetic,         // floating-point rate
  memory,             // memory bandwidth
  copy,               // memory copy by one core of its own data
  core_copy,          // memory copy by one core of another core's data, the limit of messages within a host
  pair_matrix,        // messages between every two ranks
  pair_sample,        // messages between randomly drawn pairs of ranks
  neighbor_exchange,  // messages of every rank to all its neighbors
  file_write,         // data written to files
  file_read,          // data read from files
  device_memory,      // memory bandwidth of a device
  device_link,        // data between the memories of host and device
  device_arithmetic,  // floating-point rate of a device
  device_messages,    // messages in one direction between device memories
};

struct Rung {
  Pattern pattern;
  Text metric = "";    // empty: any result
  Text settings = "";  // settings of the cases on this rung
  Text layer = "";     // empty: the level; `limit`: the ladder is compared with this benchmark
};
// Bytes over the time of communication.
constexpr Rung communication() { return {Pattern::communication, "communicate_s"}; }
// The arithmetic rate of all cases.
constexpr Rung arithmetic(Text metric = "flops_per_s") { return {Pattern::arithmetic, metric, "*"}; }

// A step of the busiest rank. `count`, `bytes` and `ranks` are expressions of numeric parameters, of metrics of
// role count, as observed by one rank, and of the number of ranks p, with + - * / ^ ( ) and sqrt, log2, ceil,
// floor, min, max.
struct Step {
  enum class Kind { work, messages, collective, neighbor_exchange };

  Text phase;
  Kind kind;
  Text routine = "";  // MPI routine of a collective
  Text count = "1";
  Text bytes = "0";
  Text ranks = "p";     // number of participating ranks
  bool hidden = false;  // whether it is hidden behind the computation
  Text settings = "";   // settings of the cases with this step; omitted parameters are free
  Text at_once = "1";   // number of messages of a neighbor exchange that are sent, and received, at once
};

// Cases of a module: `ranks=2 mode=standard,ready message_bytes=0,1Ki`.
struct Sweep {
  Text module;  // baseline, standard or advanced
  Text cases;
};

}  // namespace scope
