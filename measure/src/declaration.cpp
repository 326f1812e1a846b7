#include "declaration.hpp"

#include <algorithm>
#include <cmath>

namespace scope {
namespace {

std::string without(std::string_view name, std::string_view ending) {
  return std::string(name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : name);
}

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

// `message_bytes`: message size.
std::string label_of_parameter(std::string_view name) {
  return spaced(name.ends_with("_bytes") ? without(name, "_bytes") + " size" : std::string(name));
}

// `send_overhead_s`: send overhead.
std::string label_of_metric(std::string_view name) {
  return spaced(without(name, "_s"));
}

Metric observed(std::string_view name, std::string_view unit, Better better, MetricRole role) {
  return {std::string(name), std::string(unit), better, Quantity::observed, role, label_of_metric(name)};
}

}  // namespace

Parameter Parameter::labelled(std::string_view words) && {
  label = words;
  return std::move(*this);
}

Parameter ParametersOf::operator()(std::string_view name, std::string_view unit, std::int64_t default_value,
                                   std::int64_t minimum, std::int64_t maximum,
                                   std::string_view meaning) const {
  return {std::string(name),
          role,
          label_of_parameter(name),
          std::string(meaning),
          std::string(unit),
          default_value,
          minimum,
          maximum,
          {}};
}

Parameter ParametersOf::operator()(std::string_view name, std::initializer_list<const char*> choices,
                                   std::string_view meaning) const {
  return (*this)(name, std::vector<std::string>(choices.begin(), choices.end()), meaning);
}

Parameter ParametersOf::operator()(std::string_view name, const std::vector<std::string>& choices,
                                   std::string_view meaning) const {
  return {std::string(name), role, label_of_parameter(name), std::string(meaning), "", 0, 0, 0, choices};
}

Metric Metric::labelled(std::string_view words) && {
  label = words;
  return std::move(*this);
}

Metric seconds(std::string_view name) {
  return {std::string(name), "s", Better::lower, Quantity::time, MetricRole::result, label_of_metric(name)};
}
Metric seconds_per_step(std::string_view name) {
  return {std::string(name),    "s", Better::lower, Quantity::time_per_step, MetricRole::result,
          label_of_metric(name)};
}
Metric bytes_per_second() {
  return {"bandwidth_bytes_per_s", "B/s", Better::higher, Quantity::bytes, MetricRole::result, "bandwidth"};
}
Metric flops_per_second() {
  return {"flops_per_s", "flop/s", Better::higher, Quantity::flops, MetricRole::result, "arithmetic rate"};
}
Metric messages_per_second() {
  return {"message_rate_per_s", "1/s",         Better::higher, Quantity::messages,
          MetricRole::result,   "message rate"};
}
Metric result(std::string_view name, std::string_view unit, Better better) {
  return observed(name, unit, better, MetricRole::result);
}
Metric result_seconds(std::string_view name) {
  return observed(name, "s", Better::lower, MetricRole::result);
}
Metric phase(std::string_view name) {
  return observed(name, "s", Better::lower, MetricRole::phase);
}
Metric count(std::string_view name, std::string_view unit) {
  return observed(name, unit, Better::lower, MetricRole::count);
}
Metric condition(std::string_view name, std::string_view unit, Better better) {
  return observed(name, unit, better, MetricRole::condition);
}

Rung communication() {
  return {Pattern::communication, "communicate_s"};
}
Rung arithmetic(std::string_view metric) {
  return {Pattern::arithmetic, std::string(metric), "*"};
}

Ranks Ranks::among(std::vector<int> counts) {
  Ranks ranks{.minimum = counts.front(), .maximum = counts.back()};
  ranks.one_of = std::move(counts);
  return ranks;
}

bool Ranks::allow(int count) const {
  const int root = static_cast<int>(std::lround(std::sqrt(count)));
  return count >= minimum && count <= maximum.value_or(count) && count % multiple_of == 0 &&
         (!square || root * root == count) &&
         (one_of.empty() || std::find(one_of.begin(), one_of.end(), count) != one_of.end());
}

std::string Ranks::description() const {
  if (!one_of.empty()) {
    std::string text;
    for (std::size_t i = 0; i < one_of.size(); ++i) {
      text += (i == 0 ? "" : i + 1 == one_of.size() ? " or " : ", ") + std::to_string(one_of[i]);
    }
    return text;
  }
  std::string text;
  if (multiple_of == 2) text = "an even number, ";
  if (multiple_of > 2) text = "a multiple of " + std::to_string(multiple_of) + ", ";
  if (square) text = "a square number, ";
  if (minimum == maximum) return text + std::to_string(minimum);
  text += "at least " + std::to_string(minimum);
  return maximum ? text + " and at most " + std::to_string(*maximum) : text;
}

}  // namespace scope
