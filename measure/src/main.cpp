// scope-measure: runs the cases of a plan and writes their raw samples.
//
// With --action=probe it answers questions about the paths between ranks instead; with --action=alone it runs one
// case once, as a separate program.
//
// Exit codes: 0 success; 1 a case failed; 2 bad plan or usage; 3 samples cannot be written; 4 a rank lacks a file,
// thread or process.
#include <csignal>
#include <iostream>
#include <system_error>

#include "alone.hpp"
#include "case_runner.hpp"
#include "launch.hpp"
#include "memory/sharing.hpp"
#include "mpi/abort.hpp"
#include "mpi/child.hpp"
#include "mpi/simulated.hpp"
#include "options.hpp"
#include "probing/probe.hpp"
#include "registry.hpp"
#include "sampling/sentinel.hpp"

namespace scope {
namespace {

int run(const Options& options, const Communicator& world, MpiEnvironment& mpi) {
  try {
    if (options.share_memory) share_memory();
    const Faults faults = Faults::from_environment();
    const auto plan = read_plan(options, world);
    Progress progress(options.progress, world.rank());
    Launch launch(options, world, mpi, faults, progress);
    SampleFile samples(options, world);

    samples.write_launch(launch.facts(), launch.ticks(), launch.clock());
    std::optional<Sentinel> sentinel;
    // The state of a simulated machine does not change.
    if (options.action == Action::run && !mpi_simulates) sentinel.emplace(launch.setting(), launch.facts().host);
    const auto watch_machine = [&] {
      if (!sentinel) return;
      progress.enter(Stage::sentinel);
      const double started_unix_s = unix_seconds();
      if (const auto times = sentinel->measure_if_due()) samples.write_sentinel(started_unix_s, *times);
    };
    bool all_ok = true;
    for (const PlannedCase& item : plan) {
      watch_machine();
      const CaseResult result = run_case(item, launch.setting(), faults, progress);
      samples.write_case(item, result);
      all_ok = all_ok && result.status != "failed";
    }
    watch_machine();
    samples.write_end(launch.duration_s(), launch.clock_error_s(), launch.outside_s());
    progress.enter(Stage::finished);
    return all_ok ? 0 : 1;
  } catch (const OutputError& error) {
    if (world.root()) std::cerr << "scope-measure: " << error.what() << '\n';
    return 3;
  } catch (const std::system_error& error) {
    abort_all(world.handle(), 4, sentence({"rank ", world.rank(), " on ", host_name(), ": ", error.what()}));
  }
}

int alone(const Options& options, const Communicator& world) {
  try {
    return run_alone(options, world);
  } catch (const std::invalid_argument&) {
    throw;
  } catch (const std::exception& error) {
    abort_all(world.handle(), 1, sentence({"rank ", world.rank(), ": ", error.what()}));
  }
}

int act(const Options& options, MpiEnvironment& mpi) {
  const Communicator world = Communicator::duplicate(MPI_COMM_WORLD);
  try {
    if (options.action == Action::probe) return answer_questions(world, Faults::from_environment());
    if (options.action == Action::alone) return alone(options, world);
    return run(options, world, mpi);
  } catch (const std::invalid_argument& error) {  // the same on all ranks
    if (world.root()) std::cerr << "scope-measure: " << error.what() << '\n';
    return 2;
  }
}

}  // namespace
}  // namespace scope

int main(int argc, char** argv) {
  scope::Options options;
  try {
    options = scope::parse_options(argc, argv);
  } catch (const std::invalid_argument& error) {
    std::cerr << "scope-measure: " << error.what() << '\n' << scope::usage;
    return 2;
  }
  if (options.action == scope::Action::list) {
    scope::write_registry(std::cout);
    return 0;
  }
  // Action test covers every benchmark; otherwise thread support is initialized only if requested, as it costs
  // time.
  const bool threads = options.action == scope::Action::test || options.placement.starts_with("threads");
  scope::MpiEnvironment mpi(argc, argv, threads);
  // A write beyond `ulimit -f` must fail with an error, not end the process. Not set before MPI_Init, as Open MPI
  // would continue without shared memory, and another transport would be measured.
  std::signal(SIGXFSZ, SIG_IGN);
  if (options.action == scope::Action::child) return scope::answer_parent();
  return scope::act(options, mpi);
}
