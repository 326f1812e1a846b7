// A wire in memory between channels, with its own clock: it loses, repeats, reorders and damages frames at random
// from a seed, so that every failure can be reproduced.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "channel.hpp"
#include "wire.hpp"

namespace scope::active_messages {

struct Impairment {
  double loss = 0, duplication = 0, reordering = 0, corruption = 0;
  std::size_t slots = 1024;  // frames that can wait at a receiver; more are lost
  std::chrono::nanoseconds per_frame{
      0};  // of the link to a receiver, on which `queue` frames can wait; more are lost
  int queue = 1000;
  bool together = false;        // whether frames may be sent together
  double loss_of_together = 0;  // loss of such frames, for example by a filter on the path
};

// Connects the wires. The test controls the time.
class Medium {
 public:
  Medium(const Impairment& impairment, unsigned seed) : impairment_(impairment), random_(seed) {}

  std::unique_ptr<EthernetWire> plug_in(const Ethernet& address);

  Time now() const { return now_; }
  void pass(std::chrono::nanoseconds time) { now_ += time; }
  void cut() { cut_ = true; }
  std::uint64_t lost() const { return lost_; }
  const Impairment& impairment() const { return impairment_; }
  std::uint64_t together() const { return together_; }

  void send(std::vector<std::byte> frame, bool together) {
    if (record) recorded.push_back(frame);
    together_ += together;
    if (cut_ || drawn(impairment_.loss) || (together && drawn(impairment_.loss_of_together))) {
      ++lost_;
      return;
    }
    if (drawn(impairment_.duplication)) queue(frame);
    if (drawn(impairment_.corruption)) {
      const std::size_t bit = random_() % (8 * frame.size());
      frame[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    queue(std::move(frame));
  }
  // Injects an attacker's frame for every station, without impairments.
  void inject(const std::vector<std::byte>& frame) {
    for (auto& [address, arrivals] : arrivals_) arrivals.emplace(now_, frame);
  }

  // The next frame for this address that has arrived; empty: none.
  std::vector<std::byte> receive(const Ethernet& address) {
    auto& arrivals = arrivals_[address];
    if (arrivals.empty() || arrivals.begin()->first > now_) return {};
    std::vector<std::byte> taken = std::move(arrivals.begin()->second);
    arrivals.erase(arrivals.begin());
    return taken;
  }

  bool record = false;
  std::vector<std::vector<std::byte>> recorded;

 private:
  bool drawn(double probability) { return std::uniform_real_distribution<>()(random_) < probability; }
  void queue(std::vector<std::byte> frame) {
    Ethernet address;
    std::memcpy(address.data(), frame.data(), address.size());
    auto& arrivals = arrivals_[address];
    Time& free = free_[address];
    free = std::max(free, now_);
    if (arrivals.size() >= impairment_.slots || free - now_ > impairment_.queue * impairment_.per_frame) {
      ++lost_;
      return;
    }
    const auto late = std::chrono::microseconds(drawn(impairment_.reordering) ? 5 + random_() % 100 : 2);
    free += impairment_.per_frame;
    arrivals.emplace(free + late, std::move(frame));
  }

  Impairment impairment_;
  std::mt19937 random_;
  std::map<Ethernet, std::multimap<Time, std::vector<std::byte>>> arrivals_;  // equal times keep their order
  std::map<Ethernet, Time> free_;  // time from which the link to an address is free
  Time now_{std::chrono::hours(1)};
  bool cut_ = false;
  std::uint64_t lost_ = 0, together_ = 0;
};

class ImpairedWire final : public EthernetWire {
 public:
  ImpairedWire(Medium& medium, const Ethernet& address, bool together)
      : medium_(medium), address_(address), together_(together) {}
  std::string name() const override { return "a wire in memory"; }
  std::size_t longest_frame() const override { return ethernet_bytes + 1500; }
  std::size_t longest_together() const override { return together_ ? longest_frame() - 28 : 0; }
  std::size_t receive_slots() const override { return medium_.impairment().slots; }
  // Like a real wire, refers to the body of a frame that may be sent together with others until flush().
  bool send(Bytes head, Bytes body, bool together) override {
    Waiting& frame = waiting_.emplace_back(Waiting{{head.begin(), head.end()}, {}, body, together});
    if (!together) {
      frame.copy.assign(body.begin(), body.end());
      frame.body = frame.copy;
    }
    return true;
  }
  void flush() override {
    for (const Waiting& each : waiting_) {
      std::vector<std::byte> frame = each.head;
      frame.insert(frame.end(), each.body.begin(), each.body.end());
      frame.resize(std::max(frame.size(), shortest_frame));
      medium_.send(std::move(frame), each.together);
    }
    waiting_.clear();
  }
  Bytes receive() override {
    held_ = medium_.receive(address_);
    return held_;
  }
  int descriptor() const override { return -1; }

 private:
  struct Waiting {
    std::vector<std::byte> head, copy;
    Bytes body;
    bool together;
  };
  Medium& medium_;
  Ethernet address_;
  bool together_;
  std::deque<Waiting> waiting_;
  std::vector<std::byte> held_;
};

inline std::unique_ptr<EthernetWire> Medium::plug_in(const Ethernet& address) {
  arrivals_[address];
  return std::make_unique<ImpairedWire>(*this, address, impairment_.together);
}

}  // namespace scope::active_messages
