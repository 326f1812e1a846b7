// Waiting that leaves the processor to those who have work, and that ends.
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
  // `limit` has passed; a limit of zero waits for ever.
  Waiting(std::string what, std::chrono::microseconds shortest, std::chrono::microseconds longest,
          std::chrono::seconds limit);

  void pause();     // nothing happened
  void progress();  // something did: the next nap is a short one

 private:
  std::string what_;
  std::chrono::microseconds shortest_, longest_, nap_;
  std::chrono::seconds limit_;
  Clock::time_point begin_;
};

}  // namespace scope
