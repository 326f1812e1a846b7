// NPB's problem classes, and tables with an entry for each.
#pragma once

#include "benchmark.hpp"

namespace scope::npb {

enum class ProblemClass { S, W, A, B, C };
constexpr int problem_classes = 5;

// One entry for each class, in their order.
template <class Entry>
using PerClass = std::array<Entry, problem_classes>;

inline ProblemClass problem_class_of(const Parameters& parameters) {
  return static_cast<ProblemClass>(std::string("SWABC").find(parameters.choice("class")));
}

template <class Entry>
const Entry& of_class(const PerClass<Entry>& table, const Parameters& parameters) {
  return table[static_cast<std::size_t>(problem_class_of(parameters))];
}

// The parameter, with the size of each class of `table` in words: `S 12^3 points, W ...`.
template <class Entry>
Parameter problem_class(const PerClass<Entry>& table) {
  std::string meaning = "problem class of NPB";
  for (std::size_t i = 0; i < table.size(); ++i)
    meaning += std::string(i == 0 ? ": " : ", ") + "SWABC"[i] + ' ' + table[i].size();
  return size("class", "S,W,A,B,C", kept(meaning));
}

}  // namespace scope::npb
