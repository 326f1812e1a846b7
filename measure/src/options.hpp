// The command line of scope-measure.
#pragma once

#include <string>

#include "clocks/tick_clock.hpp"

namespace scope {

// alone: run one case as a separate program; child: a process started by mpi.spawn.
enum class Action { run, test, list, probe, alone, child };

struct Options {
  Action action = Action::run;
  std::string plan;      // empty: every benchmark once (test only)
  std::string alone;     // the case of action alone, for example application.npb_lu class=W
  std::string output;    // samples are appended to this file; empty: standard output
  std::string journal;   // one short line per record is appended to this file; empty: none
  std::string progress;  // empty: no progress file
  int launch = 1;
  int attempt = 1;
  std::string origin = "measured";
  std::string transport = "default";
  std::string placement = "none";
  ClockChoice clock = ClockChoice::automatic;
  // All times are kept for up to this many ranks; for more ranks, the extremes of all and the times of a few.
  int keep_ranks = 256;
  // Simulated ranks share one piece of memory for their large buffers; nothing is verified.
  bool share_memory = false;
};

extern const char* const usage;

// Throws std::invalid_argument that names the option, its value and what is allowed.
Options parse_options(int argc, char** argv);

}  // namespace scope
