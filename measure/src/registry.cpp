#include "registry.hpp"

#include "blas/blas.hpp"
#include "json/json.hpp"
#include "scalapack/scalapack.hpp"

namespace scope {
namespace {

std::vector<Registered>& mutable_registry() {
  static std::vector<Registered> benchmarks;
  return benchmarks;
}

// Sources in other directories (SCOPE_EXTRA_BENCHMARKS) keep their whole path.
std::string below_benchmarks(const std::string& path) {
  const std::string folder = "src/benchmarks/";
  const auto at = path.rfind(folder);
  return at == std::string::npos ? path : path.substr(at + folder.size());
}

const Names<Quantity> quantities = {{Quantity::time, "time"},        {Quantity::time_per_step, "time_per_step"},
                                    {Quantity::bytes, "bytes"},      {Quantity::moved_bytes, "moved_bytes"},
                                    {Quantity::flops, "flops"},      {Quantity::messages, "messages"},
                                    {Quantity::observed, "observed"}};

const Names<Definition> definitions = {{Definition::half_round_trip, "half_round_trip"},
                                       {Definition::global, "global"},
                                       {Definition::max_rank, "max_rank"},
                                       {Definition::local, "local"}};

const Names<Role> roles = {{Role::size, "size"},         {Role::problem, "problem"}, {Role::method, "method"},
                           {Role::parallel, "parallel"}, {Role::layout, "layout"},   {Role::call, "call"},
                           {Role::path, "path"}};

const Names<MetricRole> metric_roles = {{MetricRole::result, "result"},
                                        {MetricRole::phase, "phase"},
                                        {MetricRole::count, "count"},
                                        {MetricRole::condition, "condition"}};

const Names<Pattern> patterns = {{Pattern::ping_pong, "ping_pong"},
                                 {Pattern::stream, "stream"},
                                 {Pattern::transfer, "transfer"},
                                 {Pattern::communication, "communication"},
                                 {Pattern::arithmetic, "arithmetic"},
                                 {Pattern::memory, "memory"},
                                 {Pattern::copy, "copy"},
                                 {Pattern::core_copy, "core_copy"},
                                 {Pattern::pair_matrix, "pair_matrix"},
                                 {Pattern::pair_sample, "pair_sample"},
                                 {Pattern::neighbor_exchange, "neighbor_exchange"},
                                 {Pattern::file_write, "file_write"},
                                 {Pattern::file_read, "file_read"},
                                 {Pattern::device_memory, "device_memory"},
                                 {Pattern::device_link, "device_link"},
                                 {Pattern::device_arithmetic, "device_arithmetic"},
                                 {Pattern::device_messages, "device_messages"}};

const Names<Step::Kind> kinds_of_steps = {{Step::Kind::work, "work"},
                                          {Step::Kind::messages, "messages"},
                                          {Step::Kind::collective, "collective"},
                                          {Step::Kind::neighbor_exchange, "neighbor_exchange"}};

const Names<Requirement> requirements = {
    {Requirement::blas, "blas"},    {Requirement::lapack, "lapack"},   {Requirement::scalapack, "scalapack"},
    {Requirement::spawn, "spawn"},  {Requirement::threads, "threads"}, {Requirement::file_system, "file_system"},
    {Requirement::device, "device"}};

// Why this build lacks the requirement; empty if it has it, or if only a case can tell.
std::string absent(Requirement requirement) {
  switch (requirement) {
    case Requirement::blas:
    case Requirement::lapack: return blas::absent();
    case Requirement::scalapack: return scalapack::absent();
    default: return "";
  }
}

std::string unavailable_reason(const Declaration& declaration) {
  for (const Requirement requirement : declaration.needs)
    if (std::string reason = absent(requirement); !reason.empty()) return reason;
  return "";
}

std::string_view after_last_dot(std::string_view name) { return name.substr(name.rfind('.') + 1); }

std::int64_t parse_integer(const Parameter& parameter, const std::string& text) {
  const auto value = number_in<std::int64_t>(text);
  if (value && *value >= parameter.minimum && *value <= parameter.maximum) return *value;
  throw std::invalid_argument(sentence(
      {parameter.name, "=", text, ": must be an integer from ", parameter.minimum, " to ", parameter.maximum}));
}

// Each parameter with its value.
using Settings = std::vector<std::pair<const Parameter*, std::string>>;

// Every combination of the alternatives in `a=1 b=x,y`. Throws std::logic_error for undeclared parameters.
std::vector<Settings> combinations(std::string_view text, const Declaration& declaration) {
  std::vector<Settings> all{{}};
  if (text == "*") {
    for (const Parameter& parameter : declaration.parameters)
      if (parameter.role != Role::size) all.front().emplace_back(&parameter, "*");
    return all;
  }
  for (const std::string& word : split(text, ' ')) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto parameter = std::find_if(declaration.parameters.begin(), declaration.parameters.end(),
                                        [&](const Parameter& candidate) { return candidate.name == name; });
    if (equals == std::string::npos || parameter == declaration.parameters.end())
      throw std::logic_error(std::string(declaration.name) + " declares no parameter for the setting " + word);
    std::vector<Settings> longer;
    for (const Settings& settings : all) {
      for (const std::string& value : split(word.substr(equals + 1), ',')) {
        longer.push_back(settings);
        longer.back().emplace_back(&*parameter, value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

void write_settings(Json& json, const Settings& settings) {
  json.object("parameters");
  for (const auto& [parameter, value] : settings)
    if (parameter->is_choice() || value == "*")
      json.member(parameter->name, value);
    else
      json.member(parameter->name, parse_integer(*parameter, value));
  json.end();
}

void write_ranks(Json& json, const Ranks& ranks) {
  json.object();
  json.member("minimum", ranks.minimum);
  json.member("maximum", ranks.maximum);
  json.member("multiple_of", ranks.multiple_of);
  json.member("square", ranks.square);
  json.array("one_of");
  for (const auto& count : split(ranks.one_of, ',')) json.value(std::stoi(count));
  json.end();
  json.end();
}

template <class Items, class Write>
void write_list(Json& json, const char* name, const Items& items, Write&& write) {
  json.array(name);
  for (const auto& item : items) write(item);
  json.end();
}

void write_binding(Json& json, const Binding& binding, const Declaration& declaration) {
  for (const std::string& routine : split(binding.routines, ',')) {
    for (const Settings& settings : combinations(binding.settings, declaration)) {
      json.object();
      json.member("routine", routine);
      write_settings(json, settings);
      json.member("bytes", binding.bytes == Binding::Bytes::total ? "total" : "per_block");
      const auto write_name = [&](const std::string& name) { json.value(name); };
      write_list(json, "ends_epoch", split(binding.ends_epoch, ','), write_name);
      write_list(json, "begins_epoch", split(binding.begins_epoch, ','), write_name);
      json.member("call_size", binding.call_size);
      json.end();
    }
  }
}

void write_rung(Json& json, const Rung& rung, const Declaration& declaration) {
  const std::string_view level = declaration.name.substr(0, declaration.name.find('.'));
  for (const Settings& settings : combinations(rung.settings, declaration)) {
    json.object();
    json.member("pattern", patterns.at(rung.pattern));
    json.member("layer", rung.layer.empty() ? level : rung.layer);
    json.member("metric", rung.metric);
    write_settings(json, settings);
    json.end();
  }
}

void write_step(Json& json, const Step& step, const Declaration& declaration) {
  for (const Settings& settings : combinations(step.settings, declaration)) {
    json.object();
    json.member("phase", step.phase);
    json.member("kind", kinds_of_steps.at(step.kind));
    json.member("routine", step.routine);
    json.member("count", step.count);
    json.member("bytes", step.bytes);
    json.member("ranks", step.ranks);
    json.member("hidden", step.hidden);
    json.member("at_once", step.at_once);
    write_settings(json, settings);
    json.end();
  }
}

void write_parameter(Json& json, const Parameter& parameter) {
  const auto choices = split(parameter.choices, ',');
  json.object();
  json.member("name", parameter.name);
  json.member("type", parameter.is_choice() ? "choice" : "integer");
  json.member("unit", parameter.unit);
  if (parameter.is_choice()) {
    json.member("default", choices.front());
    json.key("minimum");
    json.null();
    json.key("maximum");
    json.null();
  } else {
    json.member("default", parameter.default_integer);
    json.member("minimum", parameter.minimum);
    json.member("maximum", parameter.maximum);
  }
  json.member("choices", choices);
  json.member("label", parameter.label());
  // Labels omit a choice whose words are empty.
  json.member("words", split(parameter.words, ',', Empty::kept));
  json.member("role", roles.at(parameter.role));
  json.member("meaning", parameter.meaning);
  json.end();
}

void write_metric(Json& json, const Metric& metric, Definition definition) {
  json.object();
  json.member("name", metric.name);
  json.member("unit", metric.unit);
  json.member("better", metric.better == Better::lower ? "lower" : "higher");
  json.member("quantity", quantities.at(metric.quantity));
  json.member("definition", definitions.at(definition));
  json.member("label", metric.label());
  json.member("role", metric_roles.at(metric.role));
  json.end();
}

void write_sweep(Json& json, const Sweep& sweep) {
  json.object();
  json.member("module", sweep.module);
  json.member("cases", sweep.cases);
  json.end();
}

void write_benchmark(Json& json, const Registered& benchmark) {
  const Declaration& declaration = benchmark.declaration;
  const std::string reason = unavailable_reason(declaration);
  json.object();
  json.member("name", declaration.name);
  json.member("title", declaration.title);
  json.member("summary", declaration.summary);
  json.member("source", benchmark.source);
  json.member("specification", benchmark.specification);
  json.member("available", reason.empty());
  json.member("reason", reason);
  json.member("family", declaration.family.empty() ? after_last_dot(declaration.name)
                                                   : std::string_view(declaration.family));
  write_list(json, "requires", declaration.needs, [&](Requirement need) { json.value(requirements.at(need)); });
  json.key("ranks");
  write_ranks(json, declaration.ranks);
  write_list(json, "routines", declaration.routines,
             [&](const Binding& binding) { write_binding(json, binding, declaration); });
  write_list(json, "rungs", declaration.rungs, [&](const Rung& rung) { write_rung(json, rung, declaration); });
  write_list(json, "costs", declaration.costs, [&](const Step& step) { write_step(json, step, declaration); });
  write_list(json, "parameters", declaration.parameters,
             [&](const Parameter& parameter) { write_parameter(json, parameter); });
  write_list(json, "metrics", declaration.metrics,
             [&](const Metric& metric) { write_metric(json, metric, declaration.definition); });
  write_list(json, "sweeps", declaration.sweeps, [&](const Sweep& sweep) { write_sweep(json, sweep); });
  json.end();
}

}  // namespace

Declaration::~Declaration() = default;

Registration::Registration(Declaration declaration, std::source_location where) {
  const std::string source = below_benchmarks(where.file_name());
  const std::string name(after_last_dot(declaration.name));
  const std::string specification = source.substr(0, source.rfind('/') + 1) + name + ".md";
  auto& benchmarks = mutable_registry();
  benchmarks.push_back({std::move(declaration), source, specification});
  std::sort(benchmarks.begin(), benchmarks.end(), [](const Registered& left, const Registered& right) {
    return left.declaration.name < right.declaration.name;
  });
}

const std::vector<Registered>& registry() { return mutable_registry(); }

const Registered& find_benchmark(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& benchmark : registry()) {
    if (benchmark.declaration.name == name) return benchmark;
    names.emplace_back(benchmark.declaration.name);
  }
  throw std::invalid_argument("unknown benchmark " + name + ": must be one of " + joined(names, ", "));
}

Parameters::Parameters(Integers integers, Choices choices)
    : integers_(std::move(integers)), choices_(std::move(choices)) {}

std::int64_t Parameters::integer(std::string_view name) const {
  const auto found = integers_.find(name);
  if (found == integers_.end()) throw std::out_of_range("no integer parameter " + std::string(name));
  return found->second;
}

const std::string& Parameters::choice(std::string_view name) const {
  const auto found = choices_.find(name);
  if (found == choices_.end()) throw std::out_of_range("no choice parameter " + std::string(name));
  return found->second;
}

Parameters parse_parameters(const Declaration& declaration, const std::map<std::string, std::string>& values) {
  Parameters::Integers integers;
  Parameters::Choices choices;
  std::vector<std::string> names;
  for (const auto& parameter : declaration.parameters) {
    const std::string& name = names.emplace_back(parameter.name);
    const auto given = values.find(name);
    if (!parameter.is_choice()) {
      integers[name] = given == values.end() ? parameter.default_integer : parse_integer(parameter, given->second);
      continue;
    }
    const auto allowed = split(parameter.choices, ',');
    const std::string value = given == values.end() ? allowed.front() : given->second;
    if (std::find(allowed.begin(), allowed.end(), value) == allowed.end())
      throw std::invalid_argument(name + "=" + value + ": must be one of " + joined(allowed, ", "));
    choices[name] = value;
  }
  for (const auto& [name, value] : values) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw std::invalid_argument("unknown parameter " + name + "=" + value + ": must be one of " +
                                  joined(names, ", "));
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
