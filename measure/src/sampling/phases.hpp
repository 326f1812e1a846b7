// Splits the time of a parallel algorithm into what each process does with it:
// T_tot = T_init + T_comp + T_comm + T_idle (thesis, eq. 6.20), where T_comm is distribution, exchange and
// collection.
//
// Idle time is found after the fact, without a barrier that would disturb the algorithm: the processes tell
// each other on the synchronised clock when they came to each meeting; what one waited before its partners
// came is idle.
#pragma once

#include <array>
#include <vector>

#include "sampling/repetition.hpp"

namespace scope {

enum class Phase { initialise, distribute, compute, exchange, collect };

// Whom a process has to wait for in a meeting.
class Partners {
 public:
  static Partners none() { return {Kind::none, {}}; }
  static Partners root() { return {Kind::root, {}}; }
  static Partners everyone() { return {Kind::everyone, {}}; }
  // `ranks` of the communicator; those outside it (MPI_PROC_NULL) are nobody.
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
  // `meetings`: how many there will be, so that none of them has to ask for memory.
  explicit Phases(const Repetition& repetition, std::size_t meetings = 0);

  // From here on, time belongs to `phase`.
  void enter(Phase phase);
  // The same, and it begins with a meeting: this process cannot leave it before its partners have come. All
  // processes go through the same meetings in the same order; `partners` must live as long as this object.
  void meet(Phase phase, const Partners& partners);
  // What its partners need of this process in the next meeting is under way from now on, before it comes
  // itself: a message that is sent, then hidden behind computation.
  void offer();
  void leave();

  // Tells `repetition` the seconds of each phase, of all communication, of idling, and of everything after
  // the root's initialisation, and the share of the exchanges to which this process came last. Collective.
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

  struct Last;  // of all processes, in one meeting

  std::vector<double> offered_s() const;
  std::vector<double> waited_s(const std::vector<Last>& last, const Communicator& communicator) const;
  double share_as_last(const std::vector<Last>& last, int rank) const;

  const TickClock& ticks_;
  const GlobalClock& clock_;
  Ticks since_;
  Phase phase_ = Phase::initialise;
  bool meeting_ = false;
  Ticks offered_ = 0;  // 0: the next meeting's offer is to come to it
  std::array<double, phases> spent_{};
  std::vector<Meeting> meetings_;
};

}  // namespace scope
