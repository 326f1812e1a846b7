// Shared by the test programs: a count of failed expectations.
#pragma once

#include <cstdio>
#include <string>

inline int failures = 0;

inline void expect(bool fine, const std::string& what) {
  if (fine) return;
  if (++failures <= 10) std::fprintf(stderr, "failed: %s\n", what.c_str());
}
