#include "outgoing.hpp"

#include <algorithm>

namespace scope::active_messages {
namespace {

// A frame is lost when one that left so many transmissions later has arrived (RFC 8985 does the same by time).
constexpr std::uint64_t reordering = 3;
// Never fewer: at the round trip of a local network 16 frames fill a link of some gigabits per second.
constexpr double smallest_window = 16;
constexpr double first_window = 64;
constexpr double decrease = 0.7;

}  // namespace

Outgoing::Outgoing(std::size_t window, bool adaptive)
    : window_(window), adaptive_(adaptive), congestion_window_(adaptive ? first_window : static_cast<double>(window)) {}

std::size_t Outgoing::room() const {
  const std::uint64_t under_way = next_ - oldest_;
  return under_way < window_ ? window_ - under_way : 0;
}

std::size_t Outgoing::room_of_requests() const {
  const std::uint64_t limit = std::min(granted_, oldest_ + static_cast<std::uint64_t>(congestion_window_));
  return limit > next_ ? std::min<std::size_t>(room(), limit - next_) : 0;
}

void Outgoing::sent(Time now) {
  SentFrame& frame = at(next_);
  frame.sent = now;
  frame.order = ++order_;
  frame.arrived = frame.repeated = frame.lost = false;
  if (empty()) timer_ = now;
  ++next_;
}

void Outgoing::repeated(SentFrame& frame, Time now) {
  frame.sent = now;
  frame.order = ++order_;
  frame.repeated = true;
  if (frame.lost) --lost_count_;
  frame.lost = false;
}

bool Outgoing::acknowledge(Time now, std::uint64_t number, Bytes bit_map) {
  if (number > next_) return false;
  if (number > oldest_) {
    const SentFrame& newest = at(number - 1);
    // A frame that arrived earlier, out of order, tells nothing about the round trip.
    if (!newest.arrived && !newest.repeated) round_trip_.sample(now - newest.sent);
    round_trip_.recover();
    if (adaptive_ && oldest_ >= recovering_until_)
      congestion_window_ = std::min(congestion_window_ + static_cast<double>(number - oldest_) / congestion_window_ * 2,
                                    static_cast<double>(window_));
    for (; oldest_ < number; ++oldest_) arrived(at(oldest_));
    timer_ = now;
  }
  if (number != oldest_ || bit_map.empty()) return true;  // an old one, or no gap
  for (std::size_t bit = 0; bit < 8 * bit_map.size() && number + 1 + bit < next_; ++bit)
    if (std::to_integer<unsigned>(bit_map[bit / 8] >> (bit % 8)) & 1) arrived(at(number + 1 + bit));
  find_lost();
  return true;
}

void Outgoing::arrived(SentFrame& frame) {
  if (frame.arrived) return;
  frame.arrived = true;
  if (frame.lost) --lost_count_;
  frame.lost = false;
  newest_order_ = std::max(newest_order_, frame.order);
}

void Outgoing::find_lost() {
  bool found = false;
  for (std::uint64_t number = oldest_; number < next_; ++number) {
    SentFrame& frame = at(number);
    if (frame.arrived || frame.lost || frame.order + reordering > newest_order_) continue;
    frame.lost = found = true;
    ++lost_count_;
  }
  if (found && oldest_ >= recovering_until_) {
    shrink(decrease);
    recovering_until_ = next_;
  }
}

void Outgoing::time_out(Time now) {
  SentFrame& frame = at(oldest_);
  if (!frame.lost) {
    frame.lost = true;
    ++lost_count_;
  }
  timer_ = now;
  round_trip_.back_off();
  shrink(0);
}

std::uint64_t Outgoing::lost() const {
  if (lost_count_ == 0) return next_;
  std::uint64_t number = oldest_;
  while (!frames_[number & (frames_.size() - 1)].lost) ++number;
  return number;
}

void Outgoing::shrink(double factor) {
  if (adaptive_) congestion_window_ = std::max(factor * congestion_window_, smallest_window);
}

}  // namespace scope::active_messages
