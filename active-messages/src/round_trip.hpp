// How long to wait for an acknowledgement: the estimator of RFC 6298 (Jacobson and Karels), with bounds for a local
// network.
#pragma once

#include <algorithm>
#include <chrono>

namespace scope::active_messages {

class RoundTrip {
 public:
  using Duration = std::chrono::nanoseconds;

  // The time of a frame that was sent once: an acknowledgement of a repeated frame is ambiguous (Karn).
  void sample(Duration measured) {
    if (smoothed_.count() == 0) {
      smoothed_ = measured;
      variation_ = measured / 2;
    } else {
      variation_ = (3 * variation_ + abs(smoothed_ - measured)) / 4;
      smoothed_ = (7 * smoothed_ + measured) / 8;
    }
    timeout_ = std::clamp(smoothed_ + 4 * variation_, shortest, longest);
  }
  void back_off() { timeout_ = std::min(2 * timeout_, longest); }
  // Something was acknowledged: earlier timeouts say nothing any more.
  void recover() {
    if (smoothed_.count() != 0) timeout_ = std::clamp(smoothed_ + 4 * variation_, shortest, longest);
  }
  Duration timeout() const { return timeout_; }
  Duration smoothed() const { return smoothed_; }

 private:
  // A receiver that shares its processor is away for some milliseconds at a time.
  static constexpr Duration shortest = std::chrono::milliseconds(2);
  static constexpr Duration longest = std::chrono::milliseconds(500);
  Duration smoothed_{0}, variation_{0}, timeout_ = std::chrono::milliseconds(50);
};

}  // namespace scope::active_messages
