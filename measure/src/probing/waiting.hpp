// Waiting with a time limit that yields the processor to ranks with work.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace scope {

// Thrown by Waiting if a peer did not answer in time.
struct Overdue {
  std::string what;
};

class Waiting {
 public:
  using Clock = std::chrono::steady_clock;

  // Naps grow from `shortest` to `longest`; there are none if `longest` is zero. pause() throws Overdue when
  // `limit` has passed; with a limit of zero it waits forever.
  Waiting(std::string what, std::chrono::microseconds shortest, std::chrono::microseconds longest,
          std::chrono::seconds limit)
      : what_(std::move(what)),
        shortest_(shortest),
        longest_(longest),
        nap_(shortest),
        limit_(limit),
        begin_(Clock::now()) {}

  // To be called if there was no progress.
  void pause() {
    if (limit_.count() > 0 && Clock::now() - begin_ > limit_)
      throw Overdue{what_ + " did not arrive within " + std::to_string(limit_.count()) + " s"};
    if (longest_.count() == 0) return;
    std::this_thread::sleep_for(nap_);
    nap_ = std::min(2 * nap_, longest_);
  }
  // To be called if there was progress, so that the next nap is short.
  void progress() { nap_ = shortest_; }

 private:
  std::string what_;
  std::chrono::microseconds shortest_, longest_, nap_;
  std::chrono::seconds limit_;
  Clock::time_point begin_;
};

}  // namespace scope
