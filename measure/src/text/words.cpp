#include "text/words.hpp"

#include <algorithm>
#include <array>

namespace scope {
namespace {

// The fewest digits that distinguish a number from all others, so that different numbers look different.
std::string shortest(double number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

}  // namespace

std::string sentence(std::initializer_list<Word> words) {
  std::string text;
  for (const Word& word : words) {
    switch (word.kind_) {
      case Word::Kind::text: text += word.text_; break;
      case Word::Kind::integer: text += std::to_string(word.integer_); break;
      case Word::Kind::real: text += shortest(word.real_); break;
    }
  }
  return text;
}

std::vector<std::string> split(std::string_view text, char separator, Empty empty) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin || empty == Empty::kept) parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string joined(const std::vector<std::string>& words, const char* separator) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

std::string alternatives(const std::vector<std::string>& words) {
  if (words.size() < 2) return joined(words, "");
  return joined({words.begin(), words.end() - 1}, ", ") + " or " + words.back();
}

}  // namespace scope
