// Waiting that yields the processor to ranks with work, with a time limit.
#pragma once

#include <chrono>
#include <string>

namespace scope {

// Thrown by Waiting when a peer did not answer in time.
struct Overdue {
  std::string what;
};

class Waiting {
 public:
  using Clock = std::chrono::steady_clock;

  // Naps grow from `shortest` to `longest`; no nap where `longest` is zero. Throws Overdue from pause() when
  // `limit` has passed; a limit of zero waits forever.
  Waiting(std::string what, std::chrono::microseconds shortest, std::chrono::microseconds longest,
          std::chrono::seconds limit);

  void pause();     // no progress
  void progress();  // some progress: the next nap is a short one

 private:
  std::string what_;
  std::chrono::microseconds shortest_, longest_, nap_;
  std::chrono::seconds limit_;
  Clock::time_point begin_;
};

}  // namespace scope
