// The reliable protocol over a wire: the peers, the handling of each frame, and the schedule of what is due.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "channel.hpp"
#include "frame.hpp"
#include "incoming.hpp"
#include "outgoing.hpp"
#include "wire.hpp"

namespace scope::active_messages {

class WireChannel final : public Channel {
 public:
  // `self` is this endpoint's complete address.
  WireChannel(std::unique_ptr<EthernetWire> wire, const Options& options, const Address& self);
  ~WireChannel() override;

  std::string name() const override { return wire_->name(); }
  void add(Peer peer, const Address& address) override;
  void await(Time now, Peer peer) override;
  std::size_t message_limit() const override { return message_limit_; }
  Outcome send(Time now, Peer peer, Kind kind, const Message& message) override;
  Outcome put(Time now, Peer peer, const Put& put) override;
  void share_processor(bool shared) override;
  int poll(Time now, Sink& sink) override;
  bool idle() const override;
  void farewell(Time now) override;
  int descriptor() const override { return wire_->descriptor(); }
  Time due() const override;
  void add_to(Statistics& statistics) const override;

 private:
  struct Remote;
  struct Finished {
    Completion completion;
    void* context;
    Outcome outcome;
  };

  void take(Time now, Sink& sink, Bytes frame);
  void foreign();
  Remote* source_of(Sink& sink, const Ethernet& source, const FrameHeader& header, Bytes body,
                    const Digest& digest);
  void accept(Time now, Sink& sink, Remote& remote, std::uint64_t number, const FrameHeader& header,
              const PartHeader& part, Bytes body);
  void deliver(Sink& sink, Remote& remote, const FrameHeader& header, Bytes body);

  void serve(Time now, Sink& sink, Remote& remote);
  void watch(Time now, Sink& sink);
  void push_puts(Time now, Remote& remote);
  bool fills_caches(const Remote& remote) const;
  void complete_puts(Remote& remote);
  void bury(Sink& sink, Remote& remote, bool farewell, std::string how);

  bool introduce(Time now, Remote& remote);
  bool send_message(Time now, Remote& remote, FrameKind kind, const Message& message, bool ask);
  bool send_part(Time now, Remote& remote);
  bool send_fresh(Time now, Remote& remote);
  bool transmit(Remote& remote, const SentFrame& frame, std::uint64_t number, bool together = false);
  void acknowledge(Sink& sink, Remote& remote, bool ask);
  void grant(const Sink& sink, Remote& remote);
  void make_busy(Remote& remote);

  std::unique_ptr<EthernetWire> wire_;
  Options options_;
  Address self_;
  std::size_t body_limit_, message_limit_;
  int shared_lately_ = 0;  // above 0: other processes want this processor
  BodyHash body_hash_;
  std::vector<std::unique_ptr<Remote>> remotes_;  // in the order of addition
  std::vector<Remote*> of_peer_;
  std::unordered_map<std::uint64_t, Remote*> of_place_;  // Ethernet address and port
  std::unordered_map<std::uint64_t, Remote*> of_process_;
  std::vector<Remote*> busy_;  // peers for which something may become due
  std::vector<Finished> finished_;
  std::uint64_t last_place_ = 0;
  Remote* last_remote_ = nullptr;  // peer at last_place_; most frames come from the same place as the previous one
  bool polling_ = false;
  int delivered_ = 0;
  std::size_t share_ = 0;
  Time last_poll_{}, next_watch_{};
  Statistics counted_{};
};

}  // namespace scope::active_messages
