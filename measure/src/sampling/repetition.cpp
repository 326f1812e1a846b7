#include "sampling/repetition.hpp"

#include "synchronization/dissemination.hpp"

namespace scope {

void Repetition::observe(std::string_view name, double value) { times_.observed[std::string(name)] = value; }

void Repetition::synchronize() {
  if (synchronization_ == Synchronization::window) {
    times_.agreed_start_s = window_.wait();
    times_.late = window_.late();
  } else if (synchronization_ == Synchronization::dissemination) {
    dissemination_barrier(setting_.world);
  }
}

}  // namespace scope
