// Runs one case as a program of its own, once and without any other messages, for profiles and campaigns.
#pragma once

#include <cstdio>
#include <stdexcept>

#include "faults/faults.hpp"
#include "mpi/communicator.hpp"
#include "options.hpp"
#include "registry.hpp"

namespace scope {

struct AskedCase {
  std::string benchmark;
  std::map<std::string, std::string> values;
};

// Parses `application.npb_lu class=W`.
inline AskedCase asked(const std::string& text) {
  const auto words = split(text, ' ');
  if (words.empty())
    throw std::invalid_argument("--case: must name a benchmark, as in application.npb_lu class=W");
  AskedCase found{words.front(), {}};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    if (equals == std::string::npos)
      throw std::invalid_argument("--case: " + words[i] + ": must be written name=value");
    found.values[words[i].substr(0, equals)] = words[i].substr(equals + 1);
  }
  return found;
}

// Prints the time of the case and whether its result is right; returns the exit code. Throws std::invalid_argument
// for an unknown benchmark or a wrong parameter, Unavailable if the case cannot run here. Collective.
inline int run_alone(const Options& options, const Communicator& world) {
  const auto [name, values] = asked(options.alone);
  const Declaration& declaration = find_benchmark(name).declaration;
  if (!declaration.ranks.allow(world.size()))
    throw std::invalid_argument(name + ": " + std::to_string(world.size()) + " ranks: must be " +
                                declaration.ranks.description());
  const auto benchmark = declaration.make(parse_parameters(declaration, values), world);

  TickClock ticks(options.clock);
  ticks.calibrate(calibration_s);
  const Hosts hosts(world, "");  // a single process does not need a common clock
  GlobalClock clock(world, ticks, hosts);
  const Setting setting{world, ticks, clock, 0, 0, false};
  Window window(world, clock);
  Repetition repetition(setting, window, Cadence::streaming, Synchronization::none, 1);
  benchmark->fill(1);
  benchmark->run(repetition);
  Faults::from_environment().corrupt_if_asked(name, world, benchmark->received());
  const Check check = benchmark->verify(1);
  if (!check.problem.empty()) std::fprintf(stderr, "rank %d: %s\n", world.rank(), check.problem.c_str());
  if (world.root())
    std::printf("%s: %.6f s, %lld values checked\n", options.alone.c_str(), repetition.times().elapsed_s,
                static_cast<long long>(check.checks));
  return check.problem.empty() ? 0 : 1;
}

}  // namespace scope
