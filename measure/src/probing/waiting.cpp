#include "probing/waiting.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace scope {

Waiting::Waiting(std::string what, std::chrono::microseconds shortest, std::chrono::microseconds longest,
                 std::chrono::seconds limit)
    : what_(std::move(what)),
      shortest_(shortest),
      longest_(longest),
      nap_(shortest),
      limit_(limit),
      begin_(Clock::now()) {}

void Waiting::pause() {
  if (limit_.count() > 0 && Clock::now() - begin_ > limit_)
    throw Overdue{what_ + " did not arrive within " + std::to_string(limit_.count()) + " s"};
  if (longest_.count() == 0) return;
  std::this_thread::sleep_for(nap_);
  nap_ = std::min(2 * nap_, longest_);
}

void Waiting::progress() { nap_ = shortest_; }

}  // namespace scope
