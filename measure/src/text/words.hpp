// Texts and their parts.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
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
  Word(char) = delete;  // would be written as a number
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

// Parts between separators; empty ones are left out.
std::vector<std::string> split(std::string_view text, char separator);

std::string joined(const std::vector<std::string>& words, const char* separator);

}  // namespace scope
