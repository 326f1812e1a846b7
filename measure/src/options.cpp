#include "options.hpp"

#include <charconv>
#include <stdexcept>

namespace scope {
namespace {

int positive(const std::string& name, const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1)
    throw std::invalid_argument("--" + name + "=" + text + ": must be an integer from 1");
  return value;
}

// `child` is for processes that this program starts itself.
Action action(const std::string& text) {
  if (text == "run") return Action::run;
  if (text == "test") return Action::test;
  if (text == "list") return Action::list;
  if (text == "probe") return Action::probe;
  if (text == "alone") return Action::alone;
  if (text == "child") return Action::child;
  throw std::invalid_argument("--action=" + text + ": must be run, test, list, probe or alone");
}

std::string origin(const std::string& text) {
  if (text == "measured" || text == "emulated" || text == "simulated") return text;
  throw std::invalid_argument("--origin=" + text + ": must be measured, emulated or simulated");
}

ClockChoice clock(const std::string& text) {
  if (text == "automatic") return ClockChoice::automatic;
  if (text == "clock_gettime") return ClockChoice::clock_gettime;
  throw std::invalid_argument("--clock=" + text + ": must be automatic or clock_gettime");
}

bool yes_or_no(const std::string& name, const std::string& text) {
  if (text == "yes" || text == "no") return text == "yes";
  throw std::invalid_argument("--" + name + "=" + text + ": must be yes or no");
}

void set(Options& options, const std::string& name, const std::string& value) {
  if (name == "action")
    options.action = action(value);
  else if (name == "plan")
    options.plan = value;
  else if (name == "case")
    options.alone = value;
  else if (name == "output")
    options.output = value;
  else if (name == "journal")
    options.journal = value;
  else if (name == "progress")
    options.progress = value;
  else if (name == "launch")
    options.launch = positive(name, value);
  else if (name == "attempt")
    options.attempt = positive(name, value);
  else if (name == "origin")
    options.origin = origin(value);
  else if (name == "transport")
    options.transport = value;
  else if (name == "placement")
    options.placement = value;
  else if (name == "clock")
    options.clock = clock(value);
  else if (name == "keep-ranks")
    options.keep_ranks = positive(name, value);
  else if (name == "share-memory")
    options.share_memory = yes_or_no(name, value);
  else
    throw std::invalid_argument("--" + name + ": must be one of the options below");
}

}  // namespace

const char* const usage =
    "usage: mpiexec -n RANKS scope-measure [--action=run|test|list|probe] [--plan=FILE] [--output=FILE]\n"
    "         [--journal=FILE] [--progress=FILE] [--launch=N] [--attempt=N]\n"
    "         [--origin=measured|emulated|simulated] [--transport=NAME] [--placement=NAME]\n"
    "         [--clock=automatic|clock_gettime] [--keep-ranks=N] [--share-memory=yes|no]\n"
    "       mpiexec -n RANKS scope-measure --action=alone '--case=BENCHMARK [name=value ...]'\n";

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto equals = word.find('=');
    if (!word.starts_with("--") || equals == std::string::npos)
      throw std::invalid_argument(word + ": must be written --name=value");
    set(options, word.substr(2, equals - 2), word.substr(equals + 1));
  }
  if (options.action == Action::run && options.plan.empty())
    throw std::invalid_argument("--plan: must name a file when the action is run");
  if ((options.action == Action::alone) == options.alone.empty())
    throw std::invalid_argument("--case: must name the case when the action is alone, and not otherwise");
  return options;
}

}  // namespace scope
