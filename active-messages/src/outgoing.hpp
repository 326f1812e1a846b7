// What was sent to one peer and is not acknowledged: a window of frames, each kept until the peer has it.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "channel.hpp"
#include "frame.hpp"

namespace scope::active_messages {

// How long to wait for an acknowledgement: the estimator of RFC 6298 (Jacobson and Karels), with bounds for a local
// network.
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

struct SentFrame {
  FrameHeader header{};  // all but what changes with each repetition: acknowledgements, grants, tag
  PartHeader part{};
  Bytes body;  // in `copy`, or the source of a put
  Digest digest{};
  std::unique_ptr<std::byte[]> copy;  // of the longest body; made at first use and kept
  Time sent{};
  std::uint64_t order = 0;  // counts transmissions, repetitions included
  bool arrived = false, repeated = false, lost = false;
  bool together = false;  // it may have traveled with others, the first time
};

class Outgoing {
 public:
  // `window`: how many frames may be under way, a power of two. `adaptive`: fewer while frames are lost.
  Outgoing(std::size_t window, bool adaptive);

  std::uint64_t next() const { return next_; }
  bool empty() const { return oldest_ == next_; }
  std::uint64_t oldest() const { return oldest_; }
  // The frame with this number, oldest() <= number < next().
  SentFrame& at(std::uint64_t number) { return frames_[number & (frames_.size() - 1)]; }
  // The frame next(), to be filled. There must be room.
  SentFrame& fresh() {
    if (frames_.empty()) frames_.resize(window_);
    return at(next_);
  }

  // How many more frames may be sent now, where requests are limited by what the peer granted and the link carries.
  std::size_t room() const;
  std::size_t room_of_requests() const;
  void grant(std::uint64_t limit) { granted_ = std::max(granted_, limit); }

  // Frames that neither arrived nor count as lost.
  std::size_t in_flight() const { return next_ - oldest_ - arrived_count_ - lost_count_; }

  // The frame next() went out.
  void sent(Time now);
  void repeated(SentFrame& frame, Time now);

  // The peer has all frames before `number`, and those of the bit map that begins at number + 1. False: no peer that
  // keeps to the protocol says so.
  bool acknowledge(Time now, std::uint64_t number, Bytes bit_map);
  // The oldest frame was not acknowledged in time; it counts as lost.
  void time_out(Time now);
  Time due() const { return empty() ? Time::max() : timer_ + round_trip_.timeout(); }

  // The number of the next frame to be repeated now; next() when there is none, or the link is full.
  std::uint64_t lost() const;
  RoundTrip::Duration timeout() const { return round_trip_.timeout(); }
  void back_off() { round_trip_.back_off(); }

 private:
  void arrived(Time now, SentFrame& frame);
  void find_lost();
  void lose(SentFrame& frame);
  void adapt(double fresh, bool used);

  std::vector<SentFrame> frames_;  // made with the first frame
  std::size_t window_;
  bool adaptive_;
  double congestion_window_;  // of in_flight()
  bool starting_ = true;      // the window doubles with each round trip
  double excess_ = 0;         // frames lost beyond the tolerated share
  std::uint64_t recovering_until_ = 0;
  std::uint64_t oldest_ = 0, next_ = 0, granted_ = first_grant, order_ = 0;
  std::uint64_t newest_order_ = 0;                  // of all that arrived
  std::size_t lost_count_ = 0, arrived_count_ = 0;  // of the frames from oldest_ on
  Time timer_{};
  RoundTrip round_trip_;

  static constexpr std::uint64_t first_grant = 16;  // before the peer has said anything
};

}  // namespace scope::active_messages
