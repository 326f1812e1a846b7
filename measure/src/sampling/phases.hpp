// Splits the time of a parallel algorithm into the phases of each process: T_tot = T_init + T_comp + T_comm +
// T_idle (thesis, eq. 6.20), where T_comm includes distribution, exchange and collection.
//
// Idle time is determined afterwards, without a barrier that would disturb the algorithm: processes exchange the
// times on the synchronized clock at which they entered each meeting; the wait before a partner's arrival is idle
// time.
#pragma once

#include <array>
#include <vector>

#include "sampling/repetition.hpp"

namespace scope {

enum class Phase { initialize, distribute, compute, exchange, collect };

// The partners for which a process has to wait in a meeting.
class Partners {
 public:
  static Partners none() { return {Kind::none, {}}; }
  static Partners root() { return {Kind::root, {}}; }
  static Partners everyone() { return {Kind::everyone, {}}; }
  // `ranks` of the communicator; MPI_PROC_NULL is ignored.
  static Partners these(std::vector<int> ranks) { return {Kind::these, std::move(ranks)}; }

 private:
  friend class Phases;
  enum class Kind { none, root, everyone, these };
  Partners(Kind kind, std::vector<int> ranks) : kind_(kind), ranks_(std::move(ranks)) {}
  Kind kind_;
  std::vector<int> ranks_;
};

class Phases {
 public:
  // `meetings`: the expected number of meetings, reserved so that none allocates memory.
  explicit Phases(const Repetition& repetition, std::size_t meetings = 0);

  // From now on, time is assigned to `phase`.
  void enter(Phase phase);
  // Enters a phase that begins with a meeting, which this process cannot leave before its partners have entered
  // it. All processes have the same meetings in the same order; `partners` must outlive this object.
  void meet(Phase phase, const Partners& partners);
  // States that this process's contribution to the next meeting is in flight from now on, before it enters the
  // meeting: a message that is sent early and hidden behind computation.
  void offer();
  void leave();

  // Reports to `repetition` the seconds of each phase, of all communication, of idling, and of everything after
  // the root's initialization, and the fraction of exchanges that this process entered last. Collective.
  void observe(Repetition& repetition, const Communicator& communicator) const;

 private:
  static constexpr int phases = 5;

  struct Meeting {
    Phase phase;
    Ticks offered;
    Ticks came;
    Ticks left;
    const Partners* partners;
  };

  struct Last;  // the last of all processes to enter a meeting

  std::vector<double> offered_s() const;
  std::vector<double> waited_s(const std::vector<Last>& last, const Communicator& communicator) const;
  double share_as_last(const std::vector<Last>& last, int rank) const;

  const TickClock& ticks_;
  const GlobalClock& clock_;
  Ticks since_;
  Phase phase_ = Phase::initialize;
  bool meeting_ = false;
  Ticks offered_ = 0;  // 0: the next meeting's offer is its entry
  std::array<double, phases> spent_{};
  std::vector<Meeting> meetings_;
};

}  // namespace scope
