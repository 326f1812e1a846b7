#include "options.hpp"

#include <algorithm>
#include <stdexcept>

#include "text/words.hpp"

namespace scope {
namespace {

const Names<Action> actions = {{Action::run, "run"},
                               {Action::test, "test"},
                               {Action::list, "list"},
                               {Action::probe, "probe"},
                               {Action::alone, "alone"}};

const Names<ClockChoice> clocks = {{ClockChoice::automatic, "automatic"},
                                   {ClockChoice::clock_gettime, "clock_gettime"}};

const std::vector<std::string> origins = {"measured", "emulated", "simulated"};

void set(Options& options, const std::string& name, const std::string& value) {
  const std::map<std::string, std::string*> texts = {
      {"plan", &options.plan},           {"case", &options.alone},         {"output", &options.output},
      {"journal", &options.journal},     {"progress", &options.progress},  {"origin", &options.origin},
      {"transport", &options.transport}, {"placement", &options.placement}};
  const std::map<std::string, int*> numbers = {
      {"launch", &options.launch}, {"attempt", &options.attempt}, {"keep-ranks", &options.keep_ranks}};
  const std::string option = "--" + name;
  const auto refuse_unless = [&](bool allowed, const std::string& what) {
    if (!allowed) throw std::invalid_argument(option + "=" + value + ": must be " + what);
  };
  if (const auto text = texts.find(name); text != texts.end()) {
    *text->second = value;
  } else if (const auto number = numbers.find(name); number != numbers.end()) {
    const auto given = number_in<int>(value);
    refuse_unless(given && *given >= 1, "an integer from 1");
    *number->second = *given;
  } else if (name == "action") {
    // Only this program starts children.
    options.action = value == "child" ? Action::child : named(actions, option, value);
  } else if (name == "clock") {
    options.clock = named(clocks, option, value);
  } else if (name == "share-memory") {
    refuse_unless(value == "yes" || value == "no", "yes or no");
    options.share_memory = value == "yes";
  } else {
    throw std::invalid_argument(option + ": is not an option; the options are listed below");
  }
  if (name == "origin")
    refuse_unless(std::find(origins.begin(), origins.end(), value) != origins.end(), alternatives(origins));
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
    throw std::invalid_argument("--plan: must name a file if --action=run");
  if ((options.action == Action::alone) == options.alone.empty())
    throw std::invalid_argument("--case: is required with --action=alone, and no other action accepts it");
  return options;
}

}  // namespace scope
