// Frames from one peer: the numbers that have arrived, and bodies that wait for their turn.
#pragma once

#include <algorithm>
#include <vector>

#include "channel.hpp"
#include "frame.hpp"

namespace scope::active_messages {

struct WaitingFrame {
  bool present = false;
  FrameHeader header{};
  std::vector<std::byte> body;
};

class Incoming {
 public:
  // Maximum distance that a peer may be ahead.
  static constexpr std::size_t window = 1024;

  // All frames before arrived() have arrived, and all before delivered() have been delivered.
  std::uint64_t arrived() const { return arrived_; }
  std::uint64_t delivered() const { return delivered_; }

  bool seen(std::uint64_t number) const {
    return number < arrived_ || (number <= highest_ && !frames_.empty() && at(number).present);
  }
  bool beyond(std::uint64_t number) const { return number >= delivered_ + window; }

  bool gap() const { return highest_ > arrived_ && !frames_.empty(); }

  // Whether this is the next frame in order and no frame waits before it, so that it need not be kept.
  bool passes(std::uint64_t number) const { return number == arrived_ && number == delivered_; }
  void pass() {
    ++delivered_;
    advance(delivered_);
  }
  // Keeps a frame that has neither been seen nor is beyond the window.
  void keep(std::uint64_t number, const FrameHeader& header, Bytes body) {
    if (frames_.empty()) frames_.resize(window);
    WaitingFrame& frame = at(number);
    frame.present = true;
    frame.header = header;
    frame.body.assign(body.begin(), body.end());
    highest_ = std::max(highest_, number);
    advance(arrived_);
  }
  bool waits() const { return delivered_ < arrived_; }
  // Removes and returns the next frame to deliver, if waits() is true.
  WaitingFrame take() {
    WaitingFrame& frame = at(delivered_++);
    WaitingFrame taken = std::move(frame);
    frame = {};
    return taken;
  }

  // Bit map of the frames after arrived(); bit 0 is arrived() + 1. Writes at most `room` bytes; returns the count.
  std::size_t bit_map(std::byte* out, std::size_t room) const {
    if (!gap()) return 0;
    const std::size_t bits = highest_ - arrived_;
    const std::size_t bytes = std::min(room, (bits + 7) / 8);
    std::fill_n(out, bytes, std::byte{0});
    for (std::size_t bit = 0; bit < bits && bit / 8 < bytes; ++bit)
      if (at(arrived_ + 1 + bit).present) out[bit / 8] |= std::byte{1} << (bit % 8);
    return bytes;
  }

 private:
  void advance(std::uint64_t from) {
    arrived_ = from;
    while (arrived_ <= highest_ && !frames_.empty() && at(arrived_).present) ++arrived_;
  }
  WaitingFrame& at(std::uint64_t number) { return frames_[number % window]; }
  const WaitingFrame& at(std::uint64_t number) const { return frames_[number % window]; }

  std::vector<WaitingFrame> frames_;  // allocated when the first frame must wait
  std::uint64_t delivered_ = 0, arrived_ = 0, highest_ = 0;
};

}  // namespace scope::active_messages
