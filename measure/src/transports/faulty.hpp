// A transport that goes wrong on request of a test (see faults.hpp): it alters one byte or brings no data at all.
#pragma once

#include "transports/transport.hpp"

namespace scope {

class FaultyTransport final : public Transport {
 public:
  // `wrong`: the number of the receive that gets a wrong byte; 0: all data are lost. The one byte by which windows are
  // acknowledged arrives unchanged and is not counted.
  FaultyTransport(std::unique_ptr<Transport> sound, bool sleeps, std::int64_t wrong)
      : Transport(sleeps), sound_(std::move(sound)), wrong_(wrong) {}

  void settle(const Partner& partner) override { sound_->settle(partner); }
  bool settles() const override { return sound_->settles(); }
  double repeated() const override { return sound_->repeated(); }
  double buffer_bytes() const override { return sound_->buffer_bytes(); }
  std::string way() const override { return sound_->way(); }

 protected:
  std::size_t send_some(std::span<const std::byte> rest, bool may_sleep) override {
    return sound_->send_some(rest, may_sleep);
  }

  std::size_t receive_some(std::span<std::byte> rest, bool may_sleep) override {
    if (rest.size() <= 1) return sound_->receive_some(rest, may_sleep);
    const std::vector<std::byte> before(rest.begin(), rest.end());
    const std::size_t moved = sound_->receive_some(rest, may_sleep);
    if (wrong_ == 0)
      std::copy(before.begin(), before.end(), rest.begin());
    else if (moved > 0 && ++received_ == wrong_)
      rest[moved - 1] ^= std::byte{0x10};
    return moved;
  }

  void wait(bool sending, bool receiving) override { sound_->wait(sending, receiving); }

 private:
  std::unique_ptr<Transport> sound_;
  std::int64_t wrong_;
  std::int64_t received_ = 0;
};

}  // namespace scope
