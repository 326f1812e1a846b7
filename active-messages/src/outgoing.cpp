#include "outgoing.hpp"

namespace scope::active_messages {
namespace {

// A frame is lost when one that left so many transmissions later has arrived (RFC 8985 does the same by time).
constexpr std::uint64_t reordering = 3;
// Control of congestion reacts to the share of lost frames, not to a lost frame: a link that is too narrow loses every
// frame too many, while up to `tolerated` of the frames may be lost by chance (PCC: Dong et al., NSDI 2015; BBR does
// the same since its second version). The sum of Page's CUSUM test tells the one from the other. The round trip time
// is no signal here: between processes that share processors the time tells when the other process ran.
constexpr double tolerated = 0.05;
constexpr double alarm = 8;  // lost frames beyond the tolerated share
constexpr double decrease = 0.7;
constexpr double gain = 2;  // frames per round trip
constexpr double first_window = 64;
constexpr double smallest_window = 16;

}  // namespace

Outgoing::Outgoing(std::size_t window, bool adaptive)
    : window_(window),
      adaptive_(adaptive),
      congestion_window_(adaptive ? first_window : static_cast<double>(window)) {}

std::size_t Outgoing::room() const {
  const std::uint64_t under_way = next_ - oldest_;
  return under_way < window_ ? window_ - under_way : 0;
}

std::size_t Outgoing::room_of_requests() const {
  const std::size_t carried = static_cast<std::size_t>(congestion_window_), flying = in_flight();
  if (granted_ <= next_ || carried <= flying) return 0;
  return std::min({room(), static_cast<std::size_t>(granted_ - next_), carried - flying});
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
  // A window that is not used shows nothing.
  const bool used = 2 * static_cast<double>(in_flight()) >= congestion_window_;
  std::size_t fresh = 0;
  const auto take = [&](SentFrame& frame) {
    fresh += !frame.arrived;
    arrived(now, frame);
  };
  if (number > oldest_) {
    const SentFrame& newest = at(number - 1);
    // A frame that arrived earlier, out of order, tells nothing about the round trip.
    if (!newest.arrived && !newest.repeated) round_trip_.sample(now - newest.sent);
    round_trip_.recover();
    for (; oldest_ < number; ++oldest_, --arrived_count_) take(at(oldest_));
  }
  if (number == oldest_) {  // else an old one, whose bit map is old, too
    for (std::size_t bit = 0; bit < 8 * bit_map.size() && number + 1 + bit < next_; ++bit)
      if (std::to_integer<unsigned>(bit_map[bit / 8] >> (bit % 8)) & 1) take(at(number + 1 + bit));
  }
  // Whatever arrives shows that the link is alive; what it lost is known by the order of arrivals.
  if (fresh > 0) timer_ = now;
  if (number == oldest_ && !bit_map.empty()) find_lost();
  if (adaptive_ && oldest_ >= recovering_until_) adapt(static_cast<double>(fresh), used);
  return true;
}

void Outgoing::arrived(Time now, SentFrame& frame) {
  if (frame.arrived) return;
  frame.arrived = true;
  ++arrived_count_;
  if (frame.lost) --lost_count_;
  frame.lost = false;
  // What is acknowledged soon after its repetition arrived at the first time (RFC 8985, 6.2).
  if (!frame.repeated || now - frame.sent >= round_trip_.smoothed())
    newest_order_ = std::max(newest_order_, frame.order);
}

void Outgoing::find_lost() {
  for (std::uint64_t number = oldest_; number < next_; ++number) {
    SentFrame& frame = at(number);
    if (!frame.arrived && !frame.lost && frame.order + reordering <= newest_order_) lose(frame);
  }
}

void Outgoing::lose(SentFrame& frame) {
  frame.lost = true;
  ++lost_count_;
  if (oldest_ >= recovering_until_) ++excess_;
}

// After `fresh` further frames have arrived.
void Outgoing::adapt(double fresh, bool used) {
  excess_ = std::max(excess_ - tolerated * fresh, 0.0);
  if (excess_ > alarm) {
    congestion_window_ = std::max(decrease * congestion_window_, smallest_window);
    starting_ = false;
    excess_ = 0;
    recovering_until_ = next_;
  } else if (used) {
    const double grown = starting_ ? fresh : gain * fresh / congestion_window_;
    congestion_window_ = std::min(congestion_window_ + grown, static_cast<double>(window_));
  }
}

void Outgoing::time_out(Time now) {
  if (SentFrame& frame = at(oldest_); !frame.lost) lose(frame);
  timer_ = now;
  round_trip_.back_off();
}

std::uint64_t Outgoing::lost() const {
  if (lost_count_ == 0) return next_;
  std::uint64_t number = oldest_;
  while (!frames_[number & (frames_.size() - 1)].lost) ++number;
  // The oldest frame goes out in any case: everything waits for it.
  const bool full = adaptive_ && static_cast<double>(in_flight()) >= congestion_window_;
  return full && number != oldest_ ? next_ : number;
}

}  // namespace scope::active_messages
