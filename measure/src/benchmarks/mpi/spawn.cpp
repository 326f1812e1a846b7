// mpi.spawn: time to start additional processes from running ones.
//
// Timed: from the common start to the end of MPI_Comm_spawn, when every child has initialized MPI and can
// communicate, on every rank's own clock; the slowest rank counts. Querying the children and disconnecting
// from them is not timed.
#include <unistd.h>

#include <algorithm>

#include "benchmark.hpp"
#include "mpi/child.hpp"

namespace scope::spawn {
namespace {

// Children need some time to end and to release their slots; on a busy machine, several pauses.
constexpr useconds_t pause_us = 200'000;
constexpr int most_pauses = 50;
int most_started = 0;  // by one call

class Spawn final : public Benchmark {
 public:
  Spawn(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator), children_(static_cast<int>(parameters.integer("children"))) {
    if (!universe_has_room()) {
      throw Unavailable(sentence({"children=", children_,
                                  ": the MPI library has too few free slots, or does not support "
                                  "dynamic process management"}));
    }
  }

  Work work() const override { return {.steps = static_cast<double>(children_)}; }

  void run(Repetition& repetition) override {
    const MPI_Comm everyone = once_slots_are_free([&] {
      MPI_Comm spawned = MPI_COMM_NULL;
      repetition.time([&] { spawned = spawn_children(children_, communicator_.handle()); });
      return spawned;
    });
    check_.problem = meet_and_part(everyone);
    check_.checks = children_;
  }

  Check verify(std::uint64_t) override { return check_; }

  // Every repetition is verified, because its children no longer exist in the next one.
  bool repeats() const override { return false; }
  bool loops() const override { return false; }

 private:
  bool universe_has_room() {
    const MPI_Comm everyone =
        once_slots_are_free([&] { return spawn_children(children_, communicator_.handle()); });
    if (everyone == MPI_COMM_NULL) return false;
    meet_and_part(everyone);
    return true;
  }

  // Calls `spawn` again after a pause if as many earlier children had slots, which they may still have.
  template <class Spawning>
  MPI_Comm once_slots_are_free(Spawning&& spawn) {
    MPI_Comm everyone = spawn();
    for (int pause = 0; everyone == MPI_COMM_NULL && children_ <= most_started && pause < most_pauses; ++pause) {
      usleep(pause_us);
      everyone = spawn();
    }
    return everyone;
  }

  // Returns which child gave a wrong answer; empty if none did.
  std::string meet_and_part(MPI_Comm everyone) {
    if (everyone == MPI_COMM_NULL) return "no child was started";
    most_started = std::max(most_started, children_);
    ++question_;
    std::string problem = communicator_.root() ? problem_of_children(everyone, children_, question_) : "";
    MPI_Comm_disconnect(&everyone);
    usleep(pause_us);
    return problem;
  }

  const Communicator& communicator_;
  int children_;
  int question_ = 1000;  // different each time
  Check check_;
};

const Registration registration{{
    .name = "mpi.spawn",
    .title = "process spawning",
    .summary = "time from the call of MPI_Comm_spawn until the new processes can communicate",
    .needs = {Requirement::spawn},
    .ranks = Ranks::at_most(1),
    .parameters = {size("children", "", 1, 1, 4096, "processes started by one call").worded("{} by one call")},
    .definition = Definition::max_rank,
    .metrics = {seconds("time_s"), seconds_per_step("time_per_child_s")},
    .sweeps = {{"advanced", "ranks=1 placement=none children=1,2,4"}},
    .make = make<Spawn>,
}};

}  // namespace
}  // namespace scope::spawn
