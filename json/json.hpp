// Writes JSON. Numbers outside JSON (NaN, infinities) are refused, never written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace scope {

// A string in quotes; bytes that are not UTF-8 pass unchanged.
std::string json_quoted(std::string_view text);

class Json {
 public:
  void object() { open('{', '}'); }
  void array() { open('[', ']'); }
  void object(std::string_view name) {
    key(name);
    object();
  }
  void array(std::string_view name) {
    key(name);
    array();
  }
  void end();  // closes the innermost object or array

  void key(std::string_view name);

  void value(double number);  // throws std::domain_error when it is not finite
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(const std::string& text) { value(std::string_view(text)); }
  template <class Integer>
    requires std::is_integral_v<Integer>
  void value(Integer number) {
    if constexpr (std::is_same_v<Integer, bool>)
      raw(number ? "true" : "false");
    else
      raw(std::to_string(number));
  }
  template <class Item>
  void value(const std::vector<Item>& items) {
    array();
    for (const auto& item : items) value(item);
    end();
  }
  template <class Value>
  void value(const std::optional<Value>& content) {  // null where there is none
    content ? value(*content) : null();
  }
  void moment(double unix_s);  // to the millisecond
  void null() { raw("null"); }

  template <class Value>
  void member(std::string_view name, const Value& content) {
    key(name);
    value(content);
  }

  const std::string& text() const { return text_; }

 private:
  void open(char opening, char closing);
  void raw(std::string_view token);
  void separate();

  std::string text_;
  std::vector<char> closings_;
  bool first_ = true;
  bool after_key_ = false;
};

}  // namespace scope
