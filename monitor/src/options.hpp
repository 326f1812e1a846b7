// Settings from the environment: SCOPE_MONITOR and SCOPE_MONITOR_OPTIONS.
#pragma once

#include <string>

namespace scope {

// Whether a directory was given; otherwise nothing is recorded.
bool is_asked_for();

struct Options {
  std::string directory;
  double interval_s = 0.1;
  double trace_start_s = 0;  // s after MPI_Init
  double trace_s = 0;        // 0: no trace
  int depth = 1;             // frames of a call site; 0: none
  double sample_hz = 0;      // samples of the computation per second of CPU time; 0: none
  int rows = 8192;           // rows of the table of calls
  int trace_rows = 65536;
  int files = 512;  // rows of the table of files; 0: files are not counted
};

// Reports an unknown option or an invalid value on stderr and uses the default.
Options read_options();

// Writes a line to stderr.
void complain(const std::string& what);

}  // namespace scope
