// What libfabric and UCX have in common: messages that only move on while somebody looks after them.
#pragma once

#include "transports/transport.hpp"

namespace scope {

class Fabric : public Transport {
 public:
  using Transport::Transport;

  // Both look until the other has all of its messages: the last to send would else leave them lying.
  void settle(const Partner& partner) override {
    partner.meet([&] { look(false); });
  }
  bool settles() const override { return true; }

 protected:
  // Moves on what is under way and notes what has been done; with `may_sleep` it waits a moment for news.
  virtual void look(bool may_sleep) = 0;

  // A byte each way, untimed, makes the connection. Throws Unavailable on both when it does not come in time.
  void greet(const Partner& partner);

  void wait(bool sending, bool receiving) override {
    sleeps() ? look(true) : Transport::wait(sending, receiving);
  }

 private:
  void exchange_greetings();

  const std::byte greeting_{1};
  std::byte greeted_{};
};

}  // namespace scope
