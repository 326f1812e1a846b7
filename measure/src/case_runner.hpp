// Runs one case, from its constructor to its record; a problem on one rank ends the case on all.
#pragma once

#include <chrono>
#include <exception>
#include <new>

#include "memory/available.hpp"
#include "mpi/abort.hpp"
#include "plan/plan.hpp"
#include "samples/sample_file.hpp"

namespace scope {

struct Preparation {
  std::unique_ptr<Benchmark> benchmark;
  std::string status = "ok";
  std::string reason;
};

inline std::string where(int rank, const std::string& what) {
  return sentence({"rank ", rank, " on ", host_name(), ": ", what});
}

inline Preparation prepare_here(const PlannedCase& item, const Communicator& world) {
  Preparation preparation;
  try {
    preparation.benchmark = item.benchmark->declaration.make(item.parameters, world);
  } catch (const Unavailable& reason) {
    preparation.status = "unavailable";
    preparation.reason = where(world.rank(), reason.what());
  } catch (const std::bad_alloc&) {
    preparation.status = "failed";
    preparation.reason = where(world.rank(), "not enough memory for the buffers");
  } catch (const std::exception& error) {
    preparation.status = "failed";
    preparation.reason = where(world.rank(), error.what());
  }
  return preparation;
}

// The first rank with a problem, which reports for all; none if no rank has a problem.
inline std::optional<int> first_with_problem(bool problem_here, const Communicator& world) {
  const int first = world.smallest(problem_here ? world.rank() : world.size());
  return first < world.size() ? std::optional(first) : std::nullopt;
}

// A benchmark runs only if every rank has prepared it.
inline void agree(Preparation& mine, const Communicator& world) {
  const auto first = first_with_problem(mine.status != "ok", world);
  if (!first) return;
  mine = {nullptr, world.broadcast(mine.status, *first), world.broadcast(mine.reason, *first)};
}

inline Preparation prepare(const PlannedCase& item, const Communicator& world) {
  give_back_freed_memory(world);
  const QuestionedClaims claims;
  Preparation mine = prepare_here(item, world);
  agree(mine, world);
  if (!mine.benchmark) return mine;
  try {
    claims.require_together(world);
  } catch (const Unavailable& reason) {
    mine = {nullptr, "unavailable", where(world.rank(), reason.what())};
  }
  agree(mine, world);
  return mine;
}

// Combines the checks of all ranks into one verdict.
inline void agree(Verification& verification, const Communicator& world) {
  verification.checks = world.sum(verification.checks);
  const auto first = first_with_problem(!verification.passed, world);
  if (!first) return;
  verification.passed = false;
  verification.message = world.broadcast(where(world.rank(), verification.message), *first);
}

// Collective. Wrong results and failed preparations are recorded like any other end of a case. Only an error
// inside the timed exchange, after which ranks are no longer in step, ends the launch (by MPI_Abort, with a
// message that names rank, host and case).
inline CaseResult run_case(const PlannedCase& item, const Setting& setting, const Faults& faults,
                           Progress& progress) {
  const auto start = std::chrono::steady_clock::now();
  CaseResult result{"ok", "", unix_seconds(), 0, {}};
  progress.begin_case(item.position);
  setting.clock.refresh();
  Preparation preparation = prepare(item, setting.world);
  result.status = preparation.status;
  result.reason = preparation.reason;
  if (preparation.benchmark) {
    try {
      result.outcome =
          sample(item.benchmark->declaration, *preparation.benchmark, item.policy, setting, faults, progress);
    } catch (const std::exception& error) {
      const std::string name(item.benchmark->declaration.name);
      abort_all(setting.world.handle(), 1, name + ": " + where(setting.world.rank(), error.what()));
    }
    agree(result.outcome.verification, setting.world);
    if (!result.outcome.verification.passed) {
      result.status = "failed";
      result.reason = result.outcome.verification.message;
    }
  }
  result.duration_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  progress.enter(Stage::writing);
  return result;
}

}  // namespace scope
