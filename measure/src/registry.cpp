#include "registry.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "samples/json.hpp"

namespace scope {
namespace {

std::vector<Registered>& mutable_registry() {
  static std::vector<Registered> benchmarks;
  return benchmarks;
}

std::string below_benchmarks(const std::string& path) {
  const std::string folder = "benchmarks/";
  const auto at = path.rfind(folder);
  return at == std::string::npos ? path : path.substr(at + folder.size());
}

const char* spelling(Quantity quantity) {
  switch (quantity) {
    case Quantity::time:
      return "time";
    case Quantity::bytes:
      return "bytes";
    case Quantity::flops:
      return "flops";
    case Quantity::time_per_step:
      return "time_per_step";
    case Quantity::messages:
      return "messages";
    case Quantity::observed:
      return "observed";
  }
  return "";
}

const char* spelling(RankRule rule) {
  switch (rule) {
    case RankRule::any:
      return "any";
    case RankRule::even:
      return "even";
    case RankRule::square:
      return "square";
    case RankRule::one_or_seven:
      return "one_or_seven";
  }
  return "";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::int64_t parse_integer(const Parameter& parameter, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < parameter.minimum ||
      value > parameter.maximum) {
    throw std::invalid_argument(parameter.name + "=" + text + ": must be an integer from " +
                                std::to_string(parameter.minimum) + " to " +
                                std::to_string(parameter.maximum));
  }
  return value;
}

void write_parameter(Json& json, const Parameter& parameter) {
  json.object();
  json.member("name", parameter.name);
  json.member("type", parameter.is_choice() ? "choice" : "integer");
  json.member("unit", parameter.unit);
  if (parameter.is_choice()) {
    json.member("default", parameter.choices.front());
    json.member("choices", parameter.choices);
  } else {
    json.member("default", parameter.default_integer);
    json.member("minimum", parameter.minimum);
    json.member("maximum", parameter.maximum);
  }
  json.member("meaning", parameter.meaning);
  json.end();
}

void write_benchmark(Json& json, const Registered& benchmark) {
  const Declaration& declaration = benchmark.declaration;
  json.object();
  json.member("name", declaration.name);
  json.member("summary", declaration.summary);
  json.member("source", benchmark.source);
  json.member("specification", benchmark.specification);
  json.member("available", declaration.unavailable_reason.empty());
  json.member("reason", declaration.unavailable_reason);
  json.member("minimum_ranks", declaration.minimum_ranks);
  json.key("maximum_ranks");
  declaration.maximum_ranks ? json.value(*declaration.maximum_ranks) : json.null();
  json.member("rank_rule", spelling(declaration.rank_rule));
  json.key("parameters");
  json.array();
  for (const auto& parameter : declaration.parameters) write_parameter(json, parameter);
  json.end();
  json.key("metrics");
  json.array();
  for (const auto& metric : declaration.metrics) {
    json.object();
    json.member("name", metric.name);
    json.member("unit", metric.unit);
    json.member("better", metric.lower_is_better ? "lower" : "higher");
    json.member("quantity", spelling(metric.quantity));
    json.member("definition", spelling(declaration.definition));
    json.end();
  }
  json.end();
  json.key("sweeps");
  json.array();
  for (const auto& sweep : declaration.sweeps) {
    json.object();
    json.member("module", sweep.module);
    json.member("cases", sweep.cases);
    json.end();
  }
  json.end();
  json.end();
}

}  // namespace

const char* spelling(Definition definition) {
  switch (definition) {
    case Definition::half_round_trip:
      return "half_round_trip";
    case Definition::global:
      return "global";
    case Definition::max_rank:
      return "max_rank";
    case Definition::local:
      return "local";
  }
  return "";
}

Registration::Registration(Declaration declaration, std::source_location where) {
  const std::string source = below_benchmarks(where.file_name());
  const std::string name = declaration.name.substr(declaration.name.rfind('.') + 1);
  const std::string specification = source.substr(0, source.rfind('/') + 1) + name + ".md";
  auto& benchmarks = mutable_registry();
  benchmarks.push_back({std::move(declaration), source, specification});
  std::sort(benchmarks.begin(), benchmarks.end(), [](const Registered& left, const Registered& right) {
    return left.declaration.name < right.declaration.name;
  });
}

const std::vector<Registered>& registry() {
  return mutable_registry();
}

const Registered& find_benchmark(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& benchmark : registry()) {
    if (benchmark.declaration.name == name) return benchmark;
    names.push_back(benchmark.declaration.name);
  }
  throw std::invalid_argument("unknown benchmark " + name + ": must be one of " + joined(names));
}

Parameters parse_parameters(const Declaration& declaration,
                            const std::map<std::string, std::string>& values) {
  std::map<std::string, std::int64_t> integers;
  std::map<std::string, std::string> choices;
  std::vector<std::string> names;
  for (const auto& parameter : declaration.parameters) {
    names.push_back(parameter.name);
    const auto given = values.find(parameter.name);
    if (!parameter.is_choice()) {
      integers[parameter.name] =
          given == values.end() ? parameter.default_integer : parse_integer(parameter, given->second);
      continue;
    }
    const std::string value = given == values.end() ? parameter.choices.front() : given->second;
    if (std::find(parameter.choices.begin(), parameter.choices.end(), value) == parameter.choices.end()) {
      throw std::invalid_argument(parameter.name + "=" + value + ": must be one of " +
                                  joined(parameter.choices));
    }
    choices[parameter.name] = value;
  }
  for (const auto& [name, value] : values) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw std::invalid_argument("unknown parameter " + name + "=" + value + ": must be one of " +
                                  joined(names));
    }
  }
  return {std::move(integers), std::move(choices)};
}

void write_registry(std::ostream& out) {
  Json json;
  json.array();
  for (const auto& benchmark : registry()) write_benchmark(json, benchmark);
  json.end();
  out << json.text() << '\n';
}

}  // namespace scope
