// The common part of libfabric and UCX: messages that progress only while the process polls.
#pragma once

#include <chrono>

#include "transports/transport.hpp"

namespace scope {

constexpr std::chrono::seconds greeting_limit(3);

class Fabric : public Transport {
 public:
  using Transport::Transport;

  // Both sides poll until the peer has all of its messages; otherwise the last messages could remain stuck.
  void settle(const Partner& partner) override {
    partner.meet([&] { look(false); });
  }
  bool settles() const override { return true; }

 protected:
  // Makes progress and records completions; with `may_sleep`, waits briefly for events.
  virtual void look(bool may_sleep) = 0;

  // Exchanges one untimed byte each way to connect. Throws Unavailable on both sides on a time-out.
  void greet(const Partner& partner) {
    std::string problem;
    const auto unless_broken = [&](auto&& step) {
      if (!problem.empty()) return;
      try {
        step();
      } catch (const std::exception& error) {
        problem = error.what();
      }
    };
    unless_broken([&] { exchange_greetings(); });
    partner.meet([&] { unless_broken([&] { look(false); }); });
    partner.agree([&] {
      if (!problem.empty()) throw Unavailable(problem);
    });
  }

  void wait(bool sending, bool receiving) override { sleeps() ? look(true) : Transport::wait(sending, receiving); }

 private:
  void exchange_greetings() {
    const auto end = std::chrono::steady_clock::now() + greeting_limit;
    bool sent = false;
    bool received = false;
    while (!sent || !received) {
      if (!sent) sent = send_some(std::as_bytes(std::span(&greeting_, 1)), false) > 0;
      if (!received) received = receive_some(std::as_writable_bytes(std::span(&greeted_, 1)), false) > 0;
      if (std::chrono::steady_clock::now() > end) throw Unavailable("no message arrives from the other process");
    }
  }

  const std::byte greeting_{1};
  std::byte greeted_{};
};

}  // namespace scope
