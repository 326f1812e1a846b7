// The least that a test program needs: say what was not so, go on, and end with the count.
#pragma once

#include <functional>
#include <iostream>
#include <string>

namespace scope::testing {

inline int failures = 0;

inline void check(bool holds, const char* expression, const char* file, int line) {
  if (holds) return;
  ++failures;
  std::cerr << file << ':' << line << ": not so: " << expression << '\n';
}

// The message of what `action` throws; empty when it throws nothing.
inline std::string thrown(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace scope::testing

#define CHECK(expression) scope::testing::check(static_cast<bool>(expression), #expression, __FILE__, __LINE__)
