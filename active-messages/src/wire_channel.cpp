#include "wire_channel.hpp"

#include <cstdio>
#include <utility>

namespace scope::active_messages {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::size_t frames_per_poll = 64;
constexpr std::size_t puts_limit = 64;  // per peer; further puts return `again`
constexpr std::size_t window = 1024;    // frames in flight to a peer: 12 ms on a link of 1 Gbit/s
constexpr std::size_t smallest_share = 16;
constexpr std::size_t reserved_for_messages = 8;  // frames of the window that puts leave to messages
constexpr std::uint32_t owed_limit = 16;          // maximum number of frames acknowledged together
// Limit if memory is the slowest link: beyond it, data has left the cache before the kernel copies to it again.
constexpr std::size_t cached_bytes = 192 << 10;
constexpr auto acknowledgement_delay = microseconds(50);
constexpr auto pause = milliseconds(100);  // after a longer time between polls, the silence was ours, not theirs
// A processor counts as shared if found so in over 1 of calls_per_sight calls, until calls_remembered calls later.
constexpr int calls_per_sight = 1000, calls_remembered = 100'000;
constexpr std::uint64_t fewest_lost_together = 64;  // losses before the reason is examined
constexpr std::uint64_t frames_remembered = 1 << 15;
constexpr std::size_t longest_bit_map = Incoming::window / 8;

std::uint64_t place(const Ethernet& address, std::uint16_t port) {
  std::uint64_t both = 0;
  std::memcpy(&both, address.data(), address.size());
  return both << 16 | port;
}

}  // namespace

// One peer.
struct WireChannel::Remote {
  Remote(Peer number, const Address& peer, const Address& self, const Options& options)
      : peer(number),
        address(peer),
        to(options.session_key, self.process, peer.process),
        from(options.session_key, peer.process, self.process),
        outgoing(window, options.flow_control) {}

  Peer peer;
  Address address;
  Seal to, from;
  Outgoing outgoing;
  Incoming incoming;
  bool spoken = false;  // whether either side has sent something, so that silence is significant
  bool dead = false, busy = false;
  bool awaited = false;  // whether the program waits for the peer, which is then queried before any message
  // Whether the peer understands frames that are sent together, and whether they reach it: something on the path,
  // such as a filter, may drop their packets.
  bool takes_segments = false;
  std::uint64_t sent_together = 0, lost_together = 0;
  bool together() const {
    return takes_segments && (lost_together < fewest_lost_together || 2 * lost_together < sent_together);
  }

  Time heard{}, probed{};
  std::uint32_t owed = 0;  // frames received since our last acknowledgement
  Time owed_since{};
  bool urgent = false;           // acknowledge in this poll
  bool waits_for_grant = false;  // whether a request was refused
  std::uint64_t granted = 0;     // the highest grant given
  std::uint64_t told = 0;        // the highest grant sent

  // A put with parts still to send, and its own copy of the header for its end.
  struct Pending {
    Put put;
    std::array<std::byte, Endpoint::header_limit> header;
  };
  std::deque<Pending> puts;
  std::size_t put_bytes_sent = 0;  // bytes sent of the first pending put
  struct Ending {
    std::uint64_t number;
    Finished finished;
  };
  std::deque<Ending> endings;  // puts whose end has been sent
};

WireChannel::WireChannel(std::unique_ptr<EthernetWire> wire, const Options& options, const Address& self)
    : wire_(std::move(wire)),
      options_(options),
      self_(self),
      body_limit_(std::min<std::size_t>(wire_->longest_frame() - head_bytes, 65'535)),
      message_limit_(wire_->longest_together() > 0 ? wire_->longest_together() - head_bytes : body_limit_),
      body_hash_(options.session_key, std::max(body_limit_, longest_bit_map)) {}

WireChannel::~WireChannel() = default;

void WireChannel::add(Peer peer, const Address& address) {
  remotes_.push_back(std::make_unique<Remote>(peer, address, self_, options_));
  Remote* remote = remotes_.back().get();
  if (of_peer_.size() <= peer) of_peer_.resize(peer + 1);
  of_peer_[peer] = remote;
  of_process_[address.process] = remote;
  of_place_[place(address.ethernet, address.port)] = remote;
  last_remote_ = nullptr;
  // With flow control, the receive ring is divided among the peers, so that a frame never finds it full.
  share_ = options_.flow_control
               ? std::clamp(wire_->receive_slots() / (2 * remotes_.size()), smallest_share, window)
               : window;
}

void WireChannel::await(Time now, Peer peer) {
  Remote& remote = *of_peer_[peer];
  if (std::exchange(remote.awaited, true) || remote.spoken || remote.dead) return;
  introduce(now, remote);
  wire_->flush();
}

Outcome WireChannel::send(Time now, Peer peer, Kind kind, const Message& message) {
  Remote& remote = *of_peer_[peer];
  if (remote.dead) return Outcome::peer_dead;
  if (!introduce(now, remote)) return Outcome::again;
  const std::size_t room = kind == Kind::reply ? remote.outgoing.room() : remote.outgoing.room_of_requests();
  const FrameKind frame = kind == Kind::reply ? FrameKind::reply : FrameKind::request;
  // The last frame of a window asks for an answer, so that both sides do not wait for each other.
  if (room == 0 || !send_message(now, remote, frame, message, room == 1)) {
    if (room == 0 && kind == Kind::request) remote.waits_for_grant = true;
    make_busy(remote);
    if (!polling_) wire_->flush();  // messages to be sent together with this one
    return Outcome::again;
  }
  if (!polling_ && !message.more) wire_->flush();
  return Outcome::done;
}

Outcome WireChannel::put(Time now, Peer peer, const Put& put) {
  Remote& remote = *of_peer_[peer];
  if (remote.dead) return Outcome::peer_dead;
  if (remote.puts.size() == puts_limit || !introduce(now, remote)) return Outcome::again;
  Remote::Pending& pending = remote.puts.emplace_back();
  pending.put = put;
  std::copy(put.end.header.begin(), put.end.header.end(), pending.header.begin());
  pending.put.end.header = Bytes(pending.header).first(put.end.header.size());
  make_busy(remote);
  push_puts(now, remote);
  if (!polling_) wire_->flush();
  return Outcome::done;
}

void WireChannel::share_processor(bool shared) {
  shared_lately_ =
      shared ? std::min(shared_lately_ + calls_per_sight, calls_remembered) : std::max(shared_lately_ - 1, 0);
}

int WireChannel::poll(Time now, Sink& sink) {
  polling_ = true;
  delivered_ = 0;
  if (last_poll_ != Time{} && now - last_poll_ > pause)
    for (const auto& remote : remotes_) remote->heard += now - last_poll_;
  last_poll_ = now;
  for (std::size_t count = 0; count < frames_per_poll; ++count) {
    const Bytes frame = wire_->receive();
    if (frame.empty()) break;
    take(now, sink, frame);
  }
  for (std::size_t index = 0; index < busy_.size();) {
    Remote& remote = *busy_[index];
    serve(now, sink, remote);
    if (remote.busy) {
      ++index;
    } else {
      busy_[index] = busy_.back();
      busy_.pop_back();
    }
  }
  if (now >= next_watch_) watch(now, sink);
  wire_->flush();
  polling_ = false;
  // A completion may start further puts.
  std::vector<Finished> finished;
  finished.swap(finished_);
  for (const Finished& put : finished) put.completion(put.context, put.outcome);
  return delivered_ + static_cast<int>(finished.size());
}

// Handles a frame from anyone: nothing is trusted before its tag is verified, and no length before it is checked.
void WireChannel::take(Time now, Sink& sink, Bytes frame) {
  FrameHeader header;
  Ethernet source;
  if (frame.size() < head_bytes) return foreign();
  std::memcpy(source.data(), frame.data() + source.size(), source.size());
  std::memcpy(&header, frame.data() + ethernet_bytes, sizeof header);
  const FrameKind kind = kind_of(header);
  const bool has_part = kind == FrameKind::put_part;
  const std::size_t body_at = head_bytes + (has_part ? sizeof(PartHeader) : 0);
  if (header.destination_port != self_.port || kind > FrameKind::acknowledgement ||
      frame.size() < ethernet_bytes + frame_bytes(header) || header.body_bytes > body_limit_ ||
      header.header_bytes > std::min<std::size_t>(header.body_bytes, Endpoint::header_limit))
    return foreign();
  PartHeader part{};
  if (has_part) std::memcpy(&part, frame.data() + head_bytes, sizeof part);
  const Bytes body = frame.subspan(body_at, header.body_bytes);
  const Digest digest = body_hash_(body);

  Remote* remote = source_of(sink, source, header, body, digest);
  if (remote == nullptr) return;
  const std::uint64_t number = extended(header.sequence, remote->incoming.arrived());
  const std::uint64_t acknowledged = extended(header.acknowledged, remote->outgoing.next());
  const std::uint64_t tag = remote->from.tag(header, number, acknowledged, part, digest);
  if (tag != (std::uint64_t{header.tag_high} << 32 | header.tag_low)) {
    ++counted_.corrupt;
    return;
  }
  ++counted_.frames_received;
  if (header.kind & prompt) remote->urgent = true;
  if (remote->dead) {
    // The peer may repeat its farewell because our answer was lost.
    if (remote->urgent) acknowledge(sink, *remote, false);
    return;
  }
  remote->heard = now;
  remote->spoken = true;
  remote->takes_segments = header.kind & takes_segments;
  const Bytes bit_map = kind == FrameKind::acknowledgement ? body : Bytes{};
  if (!remote->outgoing.acknowledge(now, acknowledged, bit_map)) return foreign();
  remote->outgoing.grant(acknowledged + header.granted);
  complete_puts(*remote);
  make_busy(*remote);
  if (kind != FrameKind::acknowledgement) accept(now, sink, *remote, number, header, part, body);
}

void WireChannel::foreign() { ++counted_.foreign; }

// The peer that a frame claims to come from. A process that is new, or new at its address, must introduce itself.
WireChannel::Remote* WireChannel::source_of(Sink& sink, const Ethernet& source, const FrameHeader& header,
                                            Bytes body, const Digest& digest) {
  const std::uint64_t where = place(source, header.source_port);
  if (where != last_place_ || last_remote_ == nullptr) {
    const auto known = of_place_.find(where);
    last_place_ = where;
    last_remote_ = known == of_place_.end() ? nullptr : known->second;
  }
  Remote* remote = last_remote_;
  Introduction who;
  if (kind_of(header) != FrameKind::hello || body.size() != sizeof who) {
    if (remote == nullptr) ++counted_.foreign;
    return remote;
  }
  std::memcpy(&who, body.data(), sizeof who);
  if (remote != nullptr && remote->address.process == who.process) return remote;
  if (of_process_.contains(who.process)) {  // a recorded and repeated frame of a predecessor
    ++counted_.foreign;
    return nullptr;
  }
  // The first frame of a sequence does not acknowledge anything.
  const Seal seal(options_.session_key, who.process, self_.process);
  if (header.sequence != 0 || header.acknowledged != 0 ||
      seal.tag(header, 0, 0, {}, digest) != (std::uint64_t{header.tag_high} << 32 | header.tag_low)) {
    ++counted_.corrupt;
    return nullptr;
  }
  if (remote != nullptr && !remote->dead) bury(sink, *remote, false, "was replaced by another process");
  const std::optional<Peer> peer = sink.admit({source, header.source_port, who.host, who.process});
  if (!peer) {
    ++counted_.foreign;
    return nullptr;
  }
  return of_peer_[*peer];
}

void WireChannel::accept(Time now, Sink& sink, Remote& remote, std::uint64_t number, const FrameHeader& header,
                         const PartHeader& part, Bytes body) {
  Incoming& incoming = remote.incoming;
  if (incoming.seen(number)) {
    ++counted_.duplicates;
    remote.urgent = true;
    return;
  }
  if (incoming.beyond(number)) return;  // will be repeated when there is room again
  if (number != incoming.arrived()) {
    ++counted_.out_of_order;
    remote.urgent = true;
  }
  if (remote.owed++ == 0) remote.owed_since = now;
  if (kind_of(header) == FrameKind::put_part) {
    // Parts of a put are written as they arrive; its end waits for all parts.
    if (std::byte* target = sink.target(part.region, part.offset(), body.size()))
      std::memcpy(target, body.data(), body.size());
    else
      ++counted_.foreign;
    body = {};
  }
  if (incoming.passes(number)) {
    incoming.pass();
    deliver(sink, remote, header, body);
  } else {
    incoming.keep(number, header, body);
  }
  while (incoming.waits()) {
    const WaitingFrame frame = incoming.take();
    deliver(sink, remote, frame.header, frame.body);
  }
}

void WireChannel::deliver(Sink& sink, Remote& remote, const FrameHeader& header, Bytes body) {
  switch (kind_of(header)) {
    case FrameKind::request:
    case FrameKind::reply:
      ++counted_.messages_received;
      ++delivered_;
      sink.deliver(remote.peer,
                   {header.handler, body.first(header.header_bytes), body.subspan(header.header_bytes)});
      break;
    case FrameKind::farewell:
      acknowledge(sink, remote, false);
      bury(sink, remote, true, "has closed its endpoint");
      break;
    default: break;
  }
}

// Sends what is due to one peer: repetitions, parts of puts, an acknowledgement.
void WireChannel::serve(Time now, Sink& sink, Remote& remote) {
  Outgoing& outgoing = remote.outgoing;
  if (remote.dead) {
    remote.busy = false;
    return;
  }
  if (now >= outgoing.due()) outgoing.time_out(now);
  for (std::uint64_t number; (number = outgoing.lost()) != outgoing.next();) {
    SentFrame& frame = outgoing.at(number);
    // Repetitions ask for an answer, so that one lost answer does not cost a timeout.
    frame.header.kind |= prompt;
    if (!transmit(remote, frame, number)) break;
    outgoing.repeated(frame, now);
    remote.lost_together += std::exchange(frame.together, false);
    ++counted_.retransmissions;
  }
  push_puts(now, remote);
  if (outgoing.room_of_requests() > reserved_for_messages) remote.waits_for_grant = false;
  if (remote.waits_for_grant && outgoing.empty() && now - remote.probed > outgoing.timeout()) {
    // The frame that granted more may have been lost.
    remote.probed = now;
    outgoing.back_off();
    acknowledge(sink, remote, true);
  }
  grant(sink, remote);
  const bool late = remote.owed > 0 && now - remote.owed_since >= acknowledgement_delay;
  const bool widened = remote.granted >= remote.told + share_ / 2;
  if (remote.urgent || remote.owed >= owed_limit || late || (widened && remote.spoken))
    acknowledge(sink, remote, false);
  remote.busy = !outgoing.empty() || remote.owed > 0 || !remote.puts.empty() || remote.waits_for_grant ||
                remote.incoming.waits() || !sink.open(remote.peer);
}

// Checks all peers for silence from time to time.
void WireChannel::watch(Time now, Sink& sink) {
  next_watch_ = now + options_.peer_timeout / 16;
  for (std::size_t index = 0; index < remotes_.size(); ++index) {
    Remote& remote = *remotes_[index];
    if (remote.dead) continue;
    // There was no room for its first frame.
    if (!remote.spoken && remote.awaited) introduce(now, remote);
    if (!remote.spoken) continue;
    if (now - remote.heard >= options_.peer_timeout) {
      const auto silence = std::chrono::duration<double>(options_.peer_timeout).count();
      std::array<char, 64> how;
      std::snprintf(how.data(), how.size(), "gave no sign of life for %g s", silence);
      bury(sink, remote, false, how.data());
    } else if (now - remote.heard >= options_.peer_timeout / 4) {
      acknowledge(sink, remote, true);
    }
  }
}

// Whether enough of a put is in flight: more would only fill caches, unless a queue discipline limits the rate or
// this processor is shared.
bool WireChannel::fills_caches(const Remote& remote) const {
  const std::size_t enough = std::max<std::size_t>(cached_bytes / body_limit_, 2 * owed_limit);
  return !wire_->shaped() && shared_lately_ == 0 && remote.outgoing.in_flight() >= enough;
}

void WireChannel::push_puts(Time now, Remote& remote) {
  while (!remote.puts.empty()) {
    const Put& put = remote.puts.front().put;
    const std::size_t room = remote.outgoing.room_of_requests();
    if (remote.put_bytes_sent < put.source.size()) {
      if (fills_caches(remote)) return;
      if (room <= reserved_for_messages || !send_part(now, remote)) {
        remote.waits_for_grant |= room <= reserved_for_messages;
        return;
      }
      continue;
    }
    const std::uint64_t number = remote.outgoing.next();
    if (room == 0 || !send_message(now, remote, FrameKind::request, put.end, true)) {
      remote.waits_for_grant |= room == 0;
      return;
    }
    remote.endings.push_back({number, {put.completion, put.context, Outcome::done}});
    remote.puts.pop_front();
    remote.put_bytes_sent = 0;
  }
}

void WireChannel::complete_puts(Remote& remote) {
  for (; !remote.endings.empty() && remote.endings.front().number < remote.outgoing.oldest();
       remote.endings.pop_front())
    finished_.push_back(remote.endings.front().finished);
}

void WireChannel::bury(Sink& sink, Remote& remote, bool farewell, std::string how) {
  complete_puts(remote);
  for (const auto& ending : remote.endings)
    finished_.push_back({ending.finished.completion, ending.finished.context, Outcome::peer_dead});
  for (const auto& [put, header] : remote.puts)
    finished_.push_back({put.completion, put.context, Outcome::peer_dead});
  remote.endings.clear();
  remote.puts.clear();
  wire_->flush();  // waiting entries refer to the frames that are destroyed here
  remote.outgoing = Outgoing(window, options_.flow_control);
  remote.dead = true;
  sink.died(remote.peer, farewell, std::move(how));
}

bool WireChannel::idle() const {
  return std::all_of(remotes_.begin(), remotes_.end(), [](const auto& remote) {
    return remote->dead || (remote->outgoing.empty() && remote->puts.empty());
  });
}

void WireChannel::farewell(Time now) {
  for (const auto& remote : remotes_)
    if (remote->spoken && !remote->dead && remote->outgoing.room() > 0)
      send_message(now, *remote, FrameKind::farewell, {}, true);
  wire_->flush();
}

Time WireChannel::due() const {
  Time earliest = next_watch_;
  for (const Remote* remote : busy_) {
    earliest = std::min(earliest, remote->outgoing.due());
    if (remote->owed > 0) earliest = std::min(earliest, remote->owed_since + acknowledgement_delay);
    if (remote->waits_for_grant) earliest = std::min(earliest, remote->probed + remote->outgoing.timeout());
    if (!remote->puts.empty()) earliest = std::min(earliest, last_poll_ + milliseconds(1));
  }
  return earliest;
}

void WireChannel::add_to(Statistics& statistics) const {
  statistics.messages_sent += counted_.messages_sent;
  statistics.messages_received += counted_.messages_received;
  statistics.frames_sent += counted_.frames_sent;
  statistics.frames_received += counted_.frames_received;
  statistics.retransmissions += counted_.retransmissions;
  statistics.duplicates += counted_.duplicates;
  statistics.out_of_order += counted_.out_of_order;
  statistics.corrupt += counted_.corrupt;
  statistics.foreign += counted_.foreign;
}

// The first frame to every peer identifies the sender.
bool WireChannel::introduce(Time now, Remote& remote) {
  if (remote.outgoing.next() > 0) return true;
  const Introduction who{self_.process, self_.host};
  const Bytes body(reinterpret_cast<const std::byte*>(&who), sizeof who);
  remote.spoken = true;
  remote.heard = now;
  return send_message(now, remote, FrameKind::hello, {0, {}, body}, true);
}

bool WireChannel::send_message(Time now, Remote& remote, FrameKind kind, const Message& message, bool ask) {
  SentFrame& frame = remote.outgoing.fresh();
  if (!frame.copy) frame.copy = std::make_unique_for_overwrite<std::byte[]>(body_limit_);
  if (!message.header.empty()) std::memcpy(frame.copy.get(), message.header.data(), message.header.size());
  if (!message.payload.empty())
    std::memcpy(frame.copy.get() + message.header.size(), message.payload.data(), message.payload.size());
  frame.body = {frame.copy.get(), message.header.size() + message.payload.size()};
  frame.part = {};
  frame.header = {};
  frame.header.kind = static_cast<std::uint8_t>(static_cast<std::uint8_t>(kind) | (ask ? prompt : 0));
  frame.header.header_bytes = static_cast<std::uint8_t>(message.header.size());
  frame.header.handler = message.handler;
  if (!send_fresh(now, remote)) return false;
  if (kind == FrameKind::request || kind == FrameKind::reply) ++counted_.messages_sent;
  return true;
}

bool WireChannel::send_part(Time now, Remote& remote) {
  const Put& put = remote.puts.front().put;
  SentFrame& frame = remote.outgoing.fresh();
  // Single frames can be longer, which matters if the link is slower than this processor.
  const bool alone = !remote.together() || (wire_->shaped() && shared_lately_ == 0);
  const std::size_t limit = (alone ? body_limit_ : message_limit_) - sizeof(PartHeader);
  frame.body =
      put.source.subspan(remote.put_bytes_sent, std::min(limit, put.source.size() - remote.put_bytes_sent));
  const std::uint64_t offset = put.offset + remote.put_bytes_sent;
  frame.part = {static_cast<std::uint32_t>(put.region), static_cast<std::uint32_t>(offset),
                static_cast<std::uint32_t>(offset >> 32)};
  frame.header = {};
  frame.header.kind = static_cast<std::uint8_t>(FrameKind::put_part);
  if (!send_fresh(now, remote)) return false;
  remote.put_bytes_sent += frame.body.size();
  return true;
}

bool WireChannel::send_fresh(Time now, Remote& remote) {
  SentFrame& frame = remote.outgoing.fresh();
  frame.header.body_bytes = static_cast<std::uint16_t>(frame.body.size());
  frame.digest = body_hash_(frame.body);
  frame.together = remote.together() && ethernet_bytes + frame_bytes(frame.header) <= wire_->longest_together();
  if (!transmit(remote, frame, remote.outgoing.next(), frame.together)) return false;
  remote.sent_together += frame.together;
  // Old results count less, and frames are sent together again after a while.
  if (remote.outgoing.next() % frames_remembered == 0) {
    remote.sent_together /= 2;
    remote.lost_together /= 2;
  }
  remote.outgoing.sent(now);
  make_busy(remote);
  return true;
}

bool WireChannel::transmit(Remote& remote, const SentFrame& frame, std::uint64_t number, bool together) {
  FrameHeader header = frame.header;
  if (wire_->longest_together() > 0) header.kind |= takes_segments;
  header.destination_port = remote.address.port;
  header.source_port = self_.port;
  header.sequence = static_cast<std::uint32_t>(number);
  const std::uint64_t arrived = remote.incoming.arrived();
  header.acknowledged = static_cast<std::uint32_t>(arrived);
  header.granted = static_cast<std::uint16_t>(remote.granted > arrived ? remote.granted - arrived : 0);
  const std::uint64_t tag = remote.to.tag(header, number, arrived, frame.part, frame.digest);
  header.tag_low = static_cast<std::uint32_t>(tag);
  header.tag_high = static_cast<std::uint32_t>(tag >> 32);

  std::array<std::byte, head_bytes + sizeof(PartHeader)> head;
  std::byte* place = head.data();
  const auto append = [&place](const void* bytes, std::size_t count) {
    std::memcpy(place, bytes, count);
    place += count;
  };
  constexpr std::array<std::uint8_t, 2> type = {ethertype >> 8, ethertype & 0xFF};
  append(remote.address.ethernet.data(), remote.address.ethernet.size());
  append(self_.ethernet.data(), self_.ethernet.size());
  append(type.data(), type.size());
  append(&header, sizeof header);
  if (kind_of(header) == FrameKind::put_part) append(&frame.part, sizeof frame.part);
  if (!wire_->send({head.data(), static_cast<std::size_t>(place - head.data())}, frame.body, together))
    return false;
  ++counted_.frames_sent;
  // Every frame acknowledges, but only an acknowledgement frame has the bit map of frames after a gap.
  remote.owed = 0;
  if (!remote.incoming.gap()) remote.urgent = false;
  remote.told = remote.granted;
  return true;
}

// Sends a separate frame without a number. `ask`: the peer must answer.
void WireChannel::acknowledge(Sink& sink, Remote& remote, bool ask) {
  grant(sink, remote);
  std::array<std::byte, longest_bit_map> bit_map;
  SentFrame frame;
  const std::size_t bytes = remote.incoming.bit_map(bit_map.data(), std::min(bit_map.size(), body_limit_));
  frame.body = {bit_map.data(), bytes};
  frame.digest = body_hash_(frame.body);
  frame.header.kind =
      static_cast<std::uint8_t>(static_cast<std::uint8_t>(FrameKind::acknowledgement) | (ask ? prompt : 0));
  frame.header.body_bytes = static_cast<std::uint16_t>(bytes);
  if (transmit(remote, frame, remote.outgoing.next())) remote.urgent = false;
}

void WireChannel::grant(const Sink& sink, Remote& remote) {
  if (sink.open(remote.peer)) remote.granted = std::max(remote.granted, remote.incoming.delivered() + share_);
}

void WireChannel::make_busy(Remote& remote) {
  if (remote.busy) return;
  remote.busy = true;
  busy_.push_back(&remote);
}

}  // namespace scope::active_messages
