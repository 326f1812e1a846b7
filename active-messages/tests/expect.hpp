// What a test program needs of a framework: a condition that ends it with the place where it failed.
#pragma once

#include <cstdio>
#include <cstdlib>

inline void expect(bool holds, const char* text, const char* file, int line) {
  if (holds) return;
  std::fprintf(stderr, "%s:%d: %s\n", file, line, text);
  std::_Exit(1);
}

#define EXPECT(condition) expect(static_cast<bool>(condition), #condition, __FILE__, __LINE__)
