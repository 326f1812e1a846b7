#include "sampling/repetition.hpp"

#include "synchronization/dissemination.hpp"

namespace scope {

const char* spelling(Cadence cadence) {
  switch (cadence) {
    case Cadence::isolated: return "isolated";
    case Cadence::streaming: return "streaming";
    case Cadence::barrier_loop: return "barrier_loop";
  }
  return "";
}

const char* spelling(Synchronization synchronization) {
  switch (synchronization) {
    case Synchronization::none: return "none";
    case Synchronization::dissemination: return "dissemination";
    case Synchronization::window: return "window";
  }
  return "";
}

void Repetition::observe(std::string_view name, double value) { times_.observed[std::string(name)] = value; }

void Repetition::synchronise() {
  if (synchronization_ == Synchronization::window) {
    times_.agreed_start_s = window_.wait();
    times_.late = window_.late();
  } else if (synchronization_ == Synchronization::dissemination) {
    dissemination_barrier(setting_.world);
  }
}

}  // namespace scope
