// A minimal test framework: a count of failures, and conditions without which it is pointless to continue.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

inline int failures = 0;

inline void expect(bool fine, const std::string& what) {
  if (fine) return;
  if (++failures <= 10) std::fprintf(stderr, "failed: %s\n", what.c_str());
}

inline void require(bool fine, const char* what, const char* file, int line) {
  if (fine) return;
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
  std::_Exit(1);
}

#define EXPECT(condition) require(static_cast<bool>(condition), #condition, __FILE__, __LINE__)
