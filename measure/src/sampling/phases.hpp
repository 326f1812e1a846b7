// Splits the time of an algorithm into what it does: T_tot = T_init + T_comp + T_comm + T_idle (thesis, 6.7).
#pragma once

#include <array>

#include "sampling/repetition.hpp"

namespace scope {

enum class Phase { initialise, compute, communicate, idle };

class Phases {
 public:
  explicit Phases(const TickClock& ticks) : ticks_(ticks), since_(ticks.now()) {}

  // From here on, time belongs to `phase`.
  void enter(Phase phase) {
    const Ticks now = ticks_.now();
    spent_[static_cast<int>(phase_)] += ticks_.seconds(now - since_);
    since_ = now;
    phase_ = phase;
  }
  void leave() { enter(phase_); }

  // Waiting that turned out, after the fact, to be part of what was booked as communication.
  void move_to_idle(double waited_s) {
    spent_[static_cast<int>(Phase::communicate)] -= waited_s;
    spent_[static_cast<int>(Phase::idle)] += waited_s;
  }

  void observe(Repetition& repetition) const {
    repetition.observe("initialise_s", spent_[static_cast<int>(Phase::initialise)]);
    repetition.observe("compute_s", spent_[static_cast<int>(Phase::compute)]);
    repetition.observe("communicate_s", spent_[static_cast<int>(Phase::communicate)]);
    repetition.observe("idle_s", spent_[static_cast<int>(Phase::idle)]);
  }

 private:
  const TickClock& ticks_;
  Ticks since_;
  Phase phase_ = Phase::initialise;
  std::array<double, 4> spent_{};
};

}  // namespace scope
