// Unacknowledged frames to one peer: a window of frames, each kept until the peer has it.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "channel.hpp"
#include "frame.hpp"

namespace scope::active_messages {

// Retransmission timeout: the estimator of RFC 6298 (Jacobson and Karels), with bounds for a local network.
class RoundTrip {
 public:
  using Duration = std::chrono::nanoseconds;

  // The round-trip time of a frame that was sent once; acknowledgements of repeated frames are ambiguous (Karn).
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
  // After an acknowledgement, earlier timeouts are no longer relevant.
  void recover() {
    if (smoothed_.count() != 0) timeout_ = std::clamp(smoothed_ + 4 * variation_, shortest, longest);
  }
  Duration timeout() const { return timeout_; }
  Duration smoothed() const { return smoothed_; }

 private:
  // A receiver that shares its processor may be descheduled for some milliseconds.
  static constexpr Duration shortest = std::chrono::milliseconds(2);
  static constexpr Duration longest = std::chrono::milliseconds(500);
  Duration smoothed_{0}, variation_{0}, timeout_ = std::chrono::milliseconds(50);
};

struct SentFrame {
  FrameHeader header{};  // all fields except those that change with each repetition: acknowledgement, grant, tag
  PartHeader part{};
  Bytes body;  // bytes in `copy`, or the source of a put
  Digest digest{};
  std::unique_ptr<std::byte[]> copy;  // room for the longest body; allocated at first use and kept
  Time sent{};
  std::uint64_t order = 0;  // transmission number, including repetitions
  bool arrived = false, repeated = false, lost = false;
  bool together = false;  // whether it may have been sent together with others the first time
};

// A frame is lost if a frame sent this many transmissions later has arrived (RFC 8985 does the same by time).
constexpr std::uint64_t reordering = 3;

// Congestion control reacts to the fraction of lost frames, not to a single loss: a link that is too narrow loses
// every excess frame, while up to `tolerated` of the frames may be lost by chance (PCC: Dong et al., NSDI 2015;
// BBR does the same since its second version). The sum of Page's CUSUM test distinguishes both. The round-trip
// time is not a usable signal: if processes share processors, it only shows when the other process ran.
constexpr double tolerated = 0.05;
constexpr double alarm = 8;  // lost frames in excess of the tolerated fraction
constexpr double decrease = 0.7;
constexpr double gain = 2;  // frames per round trip
constexpr double first_window = 64;
constexpr double smallest_window = 16;

class Outgoing {
 public:
  // `window`: maximum number of frames in flight, a power of two. `adaptive`: reduce it while frames are lost.
  Outgoing(std::size_t window, bool adaptive)
      : window_(window),
        adaptive_(adaptive),
        congestion_window_(adaptive ? first_window : static_cast<double>(window)) {}

  std::uint64_t next() const { return next_; }
  bool empty() const { return oldest_ == next_; }
  std::uint64_t oldest() const { return oldest_; }
  // The frame with this number, oldest() <= number < next().
  SentFrame& at(std::uint64_t number) { return frames_[number & (frames_.size() - 1)]; }
  // The frame next(), which the caller fills. There must be room.
  SentFrame& fresh() {
    if (frames_.empty()) frames_.resize(window_);
    return at(next_);
  }

  // How many more frames may be sent now; the peer's grant and the link's capacity limit requests.
  std::size_t room() const {
    const std::uint64_t under_way = next_ - oldest_;
    return under_way < window_ ? window_ - under_way : 0;
  }
  std::size_t room_of_requests() const {
    const std::size_t carried = static_cast<std::size_t>(congestion_window_), flying = in_flight();
    if (granted_ <= next_ || carried <= flying) return 0;
    return std::min({room(), static_cast<std::size_t>(granted_ - next_), carried - flying});
  }
  void grant(std::uint64_t limit) { granted_ = std::max(granted_, limit); }

  // Frames that have neither arrived nor count as lost.
  std::size_t in_flight() const { return next_ - oldest_ - arrived_count_ - lost_count_; }

  // Records that the frame next() was sent.
  void sent(Time now) {
    SentFrame& frame = at(next_);
    frame.sent = now;
    frame.order = ++order_;
    frame.arrived = frame.repeated = frame.lost = false;
    if (empty()) timer_ = now;
    ++next_;
  }
  void repeated(SentFrame& frame, Time now) {
    frame.sent = now;
    frame.order = ++order_;
    frame.repeated = true;
    if (frame.lost) --lost_count_;
    frame.lost = false;
  }

  // The peer has all frames before `number`, and those in the bit map that begins at number + 1. False if this
  // violates the protocol.
  bool acknowledge(Time now, std::uint64_t number, Bytes bit_map) {
    if (number > next_) return false;
    // An unused window does not provide information.
    const bool used = 2 * static_cast<double>(in_flight()) >= congestion_window_;
    std::size_t fresh = 0;
    const auto take = [&](SentFrame& frame) {
      fresh += !frame.arrived;
      arrived(now, frame);
    };
    if (number > oldest_) {
      const SentFrame& newest = at(number - 1);
      // A frame that arrived earlier, out of order, does not show the round-trip time.
      if (!newest.arrived && !newest.repeated) round_trip_.sample(now - newest.sent);
      round_trip_.recover();
      for (; oldest_ < number; ++oldest_, --arrived_count_) take(at(oldest_));
    }
    if (number == oldest_) {  // else the acknowledgement is old, and so is its bit map
      for (std::size_t bit = 0; bit < 8 * bit_map.size() && number + 1 + bit < next_; ++bit)
        if (std::to_integer<unsigned>(bit_map[bit / 8] >> (bit % 8)) & 1) take(at(number + 1 + bit));
    }
    // Any arrival shows that the link is alive; losses are detected by the order of arrivals.
    if (fresh > 0) timer_ = now;
    if (number == oldest_ && !bit_map.empty()) find_lost();
    if (adaptive_ && oldest_ >= recovering_until_) adapt(static_cast<double>(fresh), used);
    return true;
  }
  // The oldest frame was not acknowledged in time; it counts as lost.
  void time_out(Time now) {
    if (SentFrame& frame = at(oldest_); !frame.lost) lose(frame);
    timer_ = now;
    round_trip_.back_off();
  }
  Time due() const { return empty() ? Time::max() : timer_ + round_trip_.timeout(); }

  // The number of the next frame to repeat now; next() if there is none or the link is full.
  std::uint64_t lost() const {
    if (lost_count_ == 0) return next_;
    std::uint64_t number = oldest_;
    while (!frames_[number & (frames_.size() - 1)].lost) ++number;
    // The oldest frame is sent in any case, because everything waits for it.
    const bool full = adaptive_ && static_cast<double>(in_flight()) >= congestion_window_;
    return full && number != oldest_ ? next_ : number;
  }
  RoundTrip::Duration timeout() const { return round_trip_.timeout(); }
  void back_off() { round_trip_.back_off(); }

 private:
  void arrived(Time now, SentFrame& frame) {
    if (frame.arrived) return;
    frame.arrived = true;
    ++arrived_count_;
    if (frame.lost) --lost_count_;
    frame.lost = false;
    // A frame acknowledged soon after its repetition had already arrived the first time (RFC 8985, 6.2).
    if (!frame.repeated || now - frame.sent >= round_trip_.smoothed())
      newest_order_ = std::max(newest_order_, frame.order);
  }
  void find_lost() {
    for (std::uint64_t number = oldest_; number < next_; ++number) {
      SentFrame& frame = at(number);
      if (!frame.arrived && !frame.lost && frame.order + reordering <= newest_order_) lose(frame);
    }
  }
  void lose(SentFrame& frame) {
    frame.lost = true;
    ++lost_count_;
    if (oldest_ >= recovering_until_) ++excess_;
  }
  // Called after `fresh` further frames have arrived.
  void adapt(double fresh, bool used) {
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

  std::vector<SentFrame> frames_;  // allocated with the first frame
  std::size_t window_;
  bool adaptive_;
  double congestion_window_;  // limit of in_flight()
  bool starting_ = true;      // the window doubles with each round trip
  double excess_ = 0;         // frames lost in excess of the tolerated fraction
  std::uint64_t recovering_until_ = 0;
  std::uint64_t oldest_ = 0, next_ = 0, granted_ = first_grant, order_ = 0;
  std::uint64_t newest_order_ = 0;                  // over all arrived frames
  std::size_t lost_count_ = 0, arrived_count_ = 0;  // among the frames from oldest_
  Time timer_{};
  RoundTrip round_trip_;

  static constexpr std::uint64_t first_grant = 16;  // before the first message from the peer
};

}  // namespace scope::active_messages
