#include "transports/transport.hpp"

#include <sched.h>

#include "faults/faults.hpp"

namespace scope {

// A transport that fails at the request of a test (see faults.hpp): it alters one byte or delivers no data at all.
class FaultyTransport final : public Transport {
 public:
  // `wrong`: the number of the receive that gets a wrong byte; 0: all data are lost. The single byte that
  // acknowledges a window arrives unchanged and is not counted.
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

using Connect = std::unique_ptr<Transport>(const Partner&, const TransportOptions&);
Connect connect_tcp, connect_udp, connect_unix, connect_shm, connect_cma;
// Null in the baseline program, which is linked without them.
[[gnu::weak]] Connect connect_active_messages, connect_ethernet, connect_libfabric, connect_ucx;

namespace {

struct Protocol {
  const char* name;
  const char* words;  // in labels of cases
  Connect* connect;
  bool sleeps;     // whether it can wait in the kernel
  bool sockets;    // whether it has socket buffers
  bool datagrams;  // whether its flow control can be switched off
  bool packets;    // whether it survives lost packets, and counts them
};

constexpr std::array protocols = {
    Protocol{"tcp", "TCP", connect_tcp, true, true, false, true},
    Protocol{"udp", "UDP", connect_udp, true, true, true, true},
    Protocol{"unix", "Unix socket", connect_unix, true, true, false, false},
    Protocol{"shm", "shared memory", connect_shm, false, false, false, false},
    Protocol{"cma", "CMA", connect_cma, false, false, false, false},
    Protocol{"ethernet", "raw Ethernet", connect_ethernet, true, true, true, false},
    Protocol{"active_messages", "active messages", connect_active_messages, true, false, true, true},
    Protocol{"libfabric", "libfabric", connect_libfabric, true, false, false, false},
    Protocol{"ucx", "UCX", connect_ucx, false, false, false, false},
};

constexpr int vain_looks_before_yield = 256;

void refuse_what_it_has_not(const Protocol& protocol, const TransportOptions& options) {
  const std::string name = std::string("protocol=") + protocol.name + " ";
  if (options.sleeps && !protocol.sleeps) throw Unavailable(name + "wait=blocking: this protocol only polls");
  if (options.socket_buffer_bytes > 0 && !protocol.sockets) {
    throw Unavailable(
        sentence({name, "socket_buffer_bytes=", options.socket_buffer_bytes, ": this protocol has no socket"}));
  }
  if (!options.nodelay && protocol.connect != connect_tcp)
    throw Unavailable(name + "nodelay=off: only TCP has this option");
  if (options.wire != "automatic" && protocol.connect != connect_active_messages)
    throw Unavailable(name + "wire=" + options.wire + ": only active_messages has this option");
  if (options.lost_per_million > 0 && !protocol.packets) {
    throw Unavailable(sentence({name, "lost_per_million=", options.lost_per_million,
                                ": only tcp, udp and active_messages can be measured with losses"}));
  }
  if (!options.credits && !protocol.datagrams)
    throw Unavailable(name + "flow=none: the flow control of this protocol cannot be switched off");
}

}  // namespace

std::vector<std::string> transport_names() {
  std::vector<std::string> names;
  for (const auto& protocol : protocols) names.push_back(protocol.name);
  return names;
}

std::vector<std::string> transport_words() {
  std::vector<std::string> words;
  for (const auto& protocol : protocols) words.push_back(protocol.words);
  return words;
}

std::unique_ptr<Transport> connect(const std::string& name, const Partner& partner,
                                   const TransportOptions& options) {
  const auto* protocol =
      std::find_if(protocols.begin(), protocols.end(), [&](const Protocol& p) { return name == p.name; });
  if (protocol == protocols.end()) throw Unavailable("protocol=" + name + ": no such protocol on this platform");
  if (protocol->connect == nullptr)
    throw Unavailable("protocol=" + name + ": this program was compiled without this protocol; run `scope build`");
  refuse_what_it_has_not(*protocol, options);
  auto connected = protocol->connect(partner, options);
  // At the request of a test, data fail in the half that does not lead.
  const Faults faults = Faults::from_environment();
  const std::int64_t wrong = faults.wrong_receive(name);
  const bool lost = faults.asks("lose-data", name);
  if (partner.leads || (wrong == 0 && !lost)) return connected;
  return std::make_unique<FaultyTransport>(std::move(connected), options.sleeps, wrong);
}

void Transport::send(std::span<const std::byte> message) {
  while (!message.empty()) {
    const std::size_t moved = send_some(message, sleeps_);
    moved > 0 ? moves(message, moved) : wait(true, false);
  }
}

void Transport::receive(std::span<std::byte> message) {
  while (!message.empty()) {
    const std::size_t moved = receive_some(message, sleeps_);
    moved > 0 ? moves(message, moved) : wait(false, true);
  }
}

void Transport::exchange(std::span<const std::byte> sent, int sends, const Destination& arrived, int receives) {
  auto to_send = sent;
  auto to_receive = arrived.first;
  std::int64_t place = 0;
  while (sends > 0 || receives > 0) {
    // A call may sleep only if there is one direction; with two, neither may delay the other.
    const bool may_sleep = sleeps_ && (sends == 0 || receives == 0);
    const std::size_t out = sends > 0 ? send_some(to_send, may_sleep) : 0;
    const std::size_t in = receives > 0 ? receive_some(to_receive, may_sleep) : 0;
    if (out == 0 && in == 0) wait(sends > 0, receives > 0);
    if (out > 0) moves(to_send, out);
    if (in > 0) moves(to_receive, in);
    if (out > 0 && to_send.empty() && --sends > 0) to_send = sent;
    if (in > 0 && to_receive.empty() && --receives > 0) {
      if (++place == arrived.places) place = 0;
      to_receive = {arrived.first.data() + place * arrived.stride, arrived.first.size()};
    }
  }
}

void Transport::wait(bool, bool) {
  // Yields to a partner that shares this processor.
  if (++vain_looks_ % vain_looks_before_yield == 0) sched_yield();
}

}  // namespace scope
