#include "declaration.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "text/words.hpp"

namespace scope {
namespace {

std::string without(std::string_view name, std::string_view ending) {
  return std::string(name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : name);
}

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

}  // namespace

std::string Parameter::label() const {
  if (!given_label.empty()) return std::string(given_label);
  return spaced(name.ends_with("_bytes") ? without(name, "_bytes") + " size" : std::string(name));
}

std::string Metric::label() const {
  return !given_label.empty() ? std::string(given_label) : spaced(without(name, "_s"));
}

std::vector<Parameter> together(std::initializer_list<std::vector<Parameter>> lists) {
  std::vector<Parameter> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

Ranks Ranks::among(Text counts) {
  const auto listed = split(counts, ',');
  return {.minimum = std::stoi(listed.front()), .maximum = std::stoi(listed.back()), .one_of = counts};
}

bool Ranks::allow(int count) const {
  const int root = static_cast<int>(std::lround(std::sqrt(count)));
  const auto listed = split(one_of, ',');
  return count >= minimum && count <= maximum.value_or(count) && count % multiple_of == 0 &&
         (!square || root * root == count) &&
         (listed.empty() || std::find(listed.begin(), listed.end(), std::to_string(count)) != listed.end());
}

std::string Ranks::description() const {
  if (!one_of.empty()) return alternatives(split(one_of, ','));
  std::string text;
  if (multiple_of == 2) text = "an even number, ";
  if (multiple_of > 2) text = sentence({"a multiple of ", multiple_of, ", "});
  if (square) text = "a square number, ";
  if (minimum == maximum) return sentence({text, minimum});
  text += sentence({"at least ", minimum});
  return maximum ? sentence({text, " and at most ", *maximum}) : text;
}

Text kept(std::string text) {
  static std::deque<std::string> texts;
  return Text(std::string_view(texts.emplace_back(std::move(text))));
}

}  // namespace scope
