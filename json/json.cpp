#include "json/json.hpp"

#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace scope {

std::string json_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char character : text) {
    const auto code = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\') {
      quoted += '\\';
      quoted += character;
    } else if (code < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", code);
      quoted += escape;
    } else {
      quoted += character;
    }
  }
  return quoted + '"';
}

void Json::open(char opening, char closing) {
  separate();
  text_ += opening;
  closings_.push_back(closing);
  first_ = true;
}

void Json::end() {
  text_ += closings_.back();
  closings_.pop_back();
  first_ = false;
}

void Json::key(std::string_view name) {
  value(name);
  text_ += ':';
  after_key_ = true;
}

void Json::value(double number) {
  if (!std::isfinite(number)) throw std::domain_error("a number is not finite and cannot be recorded");
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.9g", number);
  raw(digits);
}

void Json::moment(double unix_s) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.3f", unix_s);
  raw(digits);
}

void Json::value(std::string_view text) { raw(json_quoted(text)); }

void Json::raw(std::string_view token) {
  separate();
  text_ += token;
}

void Json::separate() {
  if (!first_ && !after_key_) text_ += ',';
  first_ = false;
  after_key_ = false;
}

}  // namespace scope
