// One repetition: ranks start together, the operation runs, and nothing else is between the clock reads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>

#include "clocks/global_clock.hpp"
#include "clocks/tick_clock.hpp"
#include "mpi/communicator.hpp"
#include "synchronization/dissemination.hpp"
#include "synchronization/window.hpp"
#include "text/words.hpp"

namespace scope {

// How the operations of a repetition follow each other.
enum class Cadence {
  isolated,     // ranks are synchronized before every repetition
  streaming,    // back-to-back operations
  barrier_loop  // each operation is followed by the library's barrier, as in the thesis
};

// The method for a common start.
enum class Synchronization { none, dissemination, window };

inline const Names<Cadence> cadences = {
    {Cadence::isolated, "isolated"}, {Cadence::streaming, "streaming"}, {Cadence::barrier_loop, "barrier_loop"}};
inline const Names<Synchronization> synchronizations = {{Synchronization::none, "none"},
                                                        {Synchronization::dissemination, "dissemination"},
                                                        {Synchronization::window, "window"}};

// The properties of the launch that every case uses.
struct Setting {
  const Communicator& world;
  const TickClock& ticks;
  GlobalClock& clock;
  double resolution_s;       // smallest step of the clock
  double overhead_s;         // cost of a start/stop pair; subtracted from every time
  bool oversubscribed;       // more ranks than processors on some host, so waiting must not spin
  double clock_error_s = 0;  // largest between the clocks of two ranks
};

// The result of a repetition on this rank.
struct Times {
  double agreed_start_s = 0;  // on the global clock; window synchronization only
  double entry_s = 0;         // on the global clock
  double elapsed_s = 0;       // of the whole repetition, with the overhead subtracted
  bool late = false;
  std::map<std::string, double> observed;
};

class Repetition {
 public:
  // `preceded`: whether an untimed call precedes the timed ones.
  Repetition(const Setting& setting, Window& window, Cadence cadence, Synchronization synchronization,
             std::int64_t operations, bool preceded = false)
      : setting_(setting),
        window_(window),
        cadence_(cadence),
        synchronization_(synchronization),
        operations_(operations),
        preceded_(preceded) {}

  // Times `operations()` calls of `operation`, between its first and its last event on this rank. If `operation`
  // takes a number, it is passed the index of the call in the repetition.
  template <class Operation>
  void time(Operation&& operation) {
    const auto [start, stop] = clocked(operation, cadence_ == Cadence::barrier_loop);
    times_.entry_s = setting_.clock.global(start);
    times_.elapsed_s = setting_.ticks.seconds(stop - start) - setting_.overhead_s - untimed_s_;
  }

  // Does work inside the timed operation that is excluded from the measurement: its time is subtracted.
  template <class Work>
  void untimed(Work&& work) {
    const Ticks start = setting_.ticks.now();
    work();
    untimed_s_ += setting_.ticks.seconds(setting_.ticks.now() - start);
  }
  double untimed_s() const { return untimed_s_; }

  // Seconds of one call of a part of the operation on this rank, timed like `time`. To be called before `time`.
  template <class Part>
  double part_s(Part&& part) {
    const auto [start, stop] = clocked(part, false);
    return (setting_.ticks.seconds(stop - start) - setting_.overhead_s) / static_cast<double>(operations_);
  }

  // Adds a quantity of this repetition, for example the time of a phase.
  void observe(std::string_view name, double value) { times_.observed[std::string(name)] = value; }

  std::int64_t operations() const { return operations_; }
  // Including the one that is not timed.
  std::int64_t calls() const { return operations_ + (preceded_ ? 1 : 0); }
  Cadence cadence() const { return cadence_; }
  const TickClock& ticks() const { return setting_.ticks; }
  double overhead_s() const { return setting_.overhead_s; }  // cost of a start/stop pair
  const GlobalClock& clock() const { return setting_.clock; }
  const Times& times() const { return times_; }

 private:
  struct Interval {
    Ticks start;
    Ticks stop;
  };

  template <class Operation>
  Interval clocked(Operation&& operation, bool barriers) {
    const auto call = [&]([[maybe_unused]] std::int64_t number) {
      if constexpr (std::is_invocable_v<Operation&, std::int64_t>)
        operation(number);
      else
        operation();
    };
    synchronize();
    // After one operation the ranks are in a steady state, even in an exchange that synchronizes itself.
    if (preceded_) call(operations_);
    const Ticks start = setting_.ticks.now();
    if (barriers) {
      for (std::int64_t i = 0; i < operations_; ++i) {
        call(i);
        MPI_Barrier(setting_.world.handle());
      }
    } else {
      for (std::int64_t i = 0; i < operations_; ++i) call(i);
    }
    return {start, setting_.ticks.now()};
  }

  void synchronize() {
    if (synchronization_ == Synchronization::window) {
      times_.agreed_start_s = window_.wait();
      times_.late = window_.late();
    } else if (synchronization_ == Synchronization::dissemination) {
      dissemination_barrier(setting_.world);
    }
  }

  const Setting& setting_;
  Window& window_;
  Cadence cadence_;
  Synchronization synchronization_;
  std::int64_t operations_;
  bool preceded_;
  double untimed_s_ = 0;
  Times times_;
};

}  // namespace scope
