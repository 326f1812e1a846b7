// Active messages (active-messages/): frames that bypass TCP/IP between hosts, and shared memory within a host.
//
// A message is sent in as many active messages as it needs. The handler copies each of them on arrival to the
// destination of the message.
#include <sys/random.h>

#include <chrono>
#include <stdexcept>

#include "active-messages/src/endpoint.hpp"
#include "transports/route.hpp"
#include "transports/transport.hpp"

namespace scope {
namespace {

namespace am = active_messages;

constexpr auto hello_limit = std::chrono::seconds(5);
constexpr auto nap = std::chrono::milliseconds(50);
// Long, as verifying a large buffer takes seconds of silence; the supervisor ends cases with dead partners.
constexpr auto silence_limit = std::chrono::minutes(10);

am::Wire wire_named(const std::string& name) {
  return name == "xdp" ? am::Wire::xdp : name == "packet" ? am::Wire::packet : am::Wire::automatic;
}

std::array<std::byte, 16> random_key() {
  std::array<std::byte, 16> key;
  if (getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) fail("getrandom");
  return key;
}

class ActiveMessages final : public Transport {
 public:
  ActiveMessages(const am::Options& asked, bool sleeps) : Transport(sleeps), endpoint_(asked) {
    handler_ = endpoint_.handle([](void* self, am::Peer, am::Bytes,
                                   am::Bytes payload) { static_cast<ActiveMessages*>(self)->arrive(payload); },
                                this);
  }

  const am::Address& address() const { return endpoint_.address(); }

  void reach(const am::Address& partner) {
    peer_ = endpoint_.add(partner);
    limit_ = endpoint_.message_limit(peer_);
  }

  // Exchanges one untimed byte each way, which shows that the path is open.
  void greet(const Partner& partner) {
    const auto until = std::chrono::steady_clock::now() + hello_limit;
    std::byte theirs{};
    const std::byte mine{1};
    bool sent = false;
    bool heard = false;
    while (!(sent && heard) && std::chrono::steady_clock::now() < until) {
      sent = sent || send_some({&mine, 1}, false) > 0;
      heard = heard || receive_some({&theirs, 1}, false) > 0;
    }
    settle(partner);
    partner.agree([&] {
      if (!heard)
        throw std::runtime_error(
            "no frame arrives from the other process: frames are filtered, or the hosts are not on one link");
    });
  }

  void settle(const Partner& partner) override {
    partner.meet([&] { endpoint_.poll(); });
  }
  bool settles() const override { return true; }
  double repeated() const override { return static_cast<double>(endpoint_.statistics().retransmissions); }
  std::string way() const override { return endpoint_.wire(); }

 protected:
  std::size_t send_some(std::span<const std::byte> rest, bool) override {
    const auto part = rest.first(std::min(rest.size(), limit_));
    const am::Outcome outcome = endpoint_.send(peer_, handler_, {}, part);
    if (outcome == am::Outcome::peer_dead) throw std::runtime_error("the other process has gone");
    return outcome == am::Outcome::done ? part.size() : 0;
  }

  std::size_t receive_some(std::span<std::byte> rest, bool) override {
    if (taken_ < early_.size()) {
      const std::size_t bytes = std::min(rest.size(), early_.size() - taken_);
      std::memcpy(rest.data(), early_.data() + taken_, bytes);
      taken_ += bytes;
      if (taken_ == early_.size()) {
        early_.clear();
        taken_ = 0;
      }
      return bytes;
    }
    place_ = rest;
    endpoint_.poll();
    const std::size_t bytes = rest.size() - place_.size();
    place_ = {};
    return bytes;
  }

  void wait(bool sending, bool receiving) override {
    if (sleeps())
      endpoint_.wait(nap);
    else
      Transport::wait(sending, receiving);
    // A pure sender must read the acknowledgements.
    if (!receiving) endpoint_.poll();
  }

 private:
  void arrive(am::Bytes payload) {
    const std::size_t bytes = std::min(payload.size(), place_.size());
    if (bytes > 0) std::memcpy(place_.data(), payload.data(), bytes);
    place_ = place_.subspan(bytes);
    // Data that a poll delivers beyond the place wait here; at most as much as a grant allows.
    early_.insert(early_.end(), payload.begin() + static_cast<std::ptrdiff_t>(bytes), payload.end());
  }

  am::Endpoint endpoint_;
  am::Handler handler_ = 0;
  am::Peer peer_ = 0;
  std::size_t limit_ = 0;
  std::span<std::byte> place_;  // remaining part of the destination
  std::vector<std::byte> early_;
  std::size_t taken_ = 0;  // bytes taken from `early_`
};

}  // namespace

std::unique_ptr<Transport> connect_active_messages(const Partner& partner, const TransportOptions& options) {
  if (partner.nearby && options.wire != "automatic")
    throw Unavailable("protocol=active_messages wire=" + options.wire +
                      ": the two ranks are on one host, where messages go through shared memory");
  if (partner.nearby && options.lost_per_million > 0)
    throw Unavailable(
        "protocol=active_messages lost_per_million: the two ranks are on one host, where messages go through "
        "shared memory");
  am::Options asked;
  asked.loss = options.lost_per_million * 1e-6;
  asked.flow_control = options.credits;
  asked.peer_timeout = silence_limit;
  std::array<std::byte, 16> key{};
  const auto other_key = partner.agree([&] {
    key = random_key();
    return key;
  });
  asked.session_key = partner.leads ? key : other_key;
  if (partner.nearby) {
    asked.wire = am::Wire::none;
  } else {
    asked.wire = wire_named(options.wire);
    const Route route = route_to(partner);
    partner.agree([&] { asked.interface = interface_with(route.here); });
  }
  std::unique_ptr<ActiveMessages> made;
  const am::Address theirs = partner.agree([&] {
    made = std::make_unique<ActiveMessages>(asked, options.sleeps);
    return made->address();
  });
  partner.agree([&] { made->reach(theirs); });
  made->greet(partner);
  return made;
}

}  // namespace scope
