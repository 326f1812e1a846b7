// The common part of libfabric and UCX: messages that progress only while the process polls.
#pragma once

#include "transports/transport.hpp"

namespace scope {

class Fabric : public Transport {
 public:
  using Transport::Transport;

  // Both sides poll until the peer has all of its messages; otherwise the last ones sent could remain stuck.
  void settle(const Partner& partner) override {
    partner.meet([&] { look(false); });
  }
  bool settles() const override { return true; }

 protected:
  // Makes progress and records completions; with `may_sleep`, waits briefly for events.
  virtual void look(bool may_sleep) = 0;

  // Exchanges one untimed byte each way to connect. Throws Unavailable on both sides on a time-out.
  void greet(const Partner& partner);

  void wait(bool sending, bool receiving) override { sleeps() ? look(true) : Transport::wait(sending, receiving); }

 private:
  void exchange_greetings();

  const std::byte greeting_{1};
  std::byte greeted_{};
};

}  // namespace scope
