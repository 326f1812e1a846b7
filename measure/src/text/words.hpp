// Functions for texts and their parts.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace scope {

// A part of a sentence: text or a number.
class Word {
 public:
  Word(const char* text) : text_(text) {}
  Word(const std::string& text) : text_(text) {}
  Word(std::string_view text) : text_(text) {}
  template <std::integral Integer>
  Word(Integer number) : kind_(Kind::integer), integer_(static_cast<std::int64_t>(number)) {}
  Word(char) = delete;  // as it would be written as a number
  Word(double number) : kind_(Kind::real), real_(number) {}

 private:
  friend std::string sentence(std::initializer_list<Word> words);
  enum class Kind { text, integer, real };
  Kind kind_ = Kind::text;
  std::string_view text_;
  std::int64_t integer_ = 0;
  double real_ = 0;
};

// Concatenates words: sentence({"n=", n, ": must be above ", least}).
std::string sentence(std::initializer_list<Word> words);

// The parts between separators.
enum class Empty { left_out, kept };
std::vector<std::string> split(std::string_view text, char separator, Empty empty = Empty::left_out);

std::string joined(const std::vector<std::string>& words, const char* separator);

// `a, b or c`
std::string alternatives(const std::vector<std::string>& words);

// The number that the whole text represents; none if it is not a number.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// The names of the values of an enumeration, as written in options, plans and records.
template <class Value>
using Names = std::map<Value, const char*>;

// Throws std::invalid_argument with a message that names the option and its allowed values.
template <class Value>
Value named(const Names<Value>& names, const std::string& option, std::string_view text) {
  std::vector<std::string> allowed;
  for (const auto& [value, name] : names) {
    if (name == text) return value;
    allowed.emplace_back(name);
  }
  throw std::invalid_argument(sentence({option, "=", text, ": must be ", alternatives(allowed)}));
}

}  // namespace scope
