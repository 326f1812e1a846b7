// Splits the time of a parallel algorithm into the phases of each process: T_tot = T_init + T_comp + T_comm +
// T_idle (thesis, eq. 6.20), where T_comm is distribution, exchange and collection.
//
// Idle time is found afterwards, without a barrier that would disturb the algorithm: the processes exchange
// the times at which they entered each meeting, on the synchronized clock; the wait before a partner's
// arrival is idle time.
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
  // `meetings`: their expected number, so that none of them allocates memory.
  explicit Phases(const Repetition& repetition, std::size_t meetings = 0);

  // From here on, time belongs to `phase`.
  void enter(Phase phase);
  // Enters a phase that begins with a meeting: this process cannot leave it before its partners have entered. All
  // processes go through the same meetings in the same order; `partners` must outlive this object.
  void meet(Phase phase, const Partners& partners);
  // This process's contribution to the next meeting is in flight from now on, before the process itself
  // enters: a message sent early and hidden behind computation.
  void offer();
  void leave();

  // Reports to `repetition` the seconds of each phase, of all communication, of idling, and of everything
  // after the root's initialization, and the share of exchanges that this process entered last. Collective.
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
  Phase phase_ = Phase::initialize;
  bool meeting_ = false;
  Ticks offered_ = 0;  // 0: the next meeting's offer is its entry
  std::array<double, phases> spent_{};
  std::vector<Meeting> meetings_;
};

}  // namespace scope
