#include "shared_memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include "inbox.hpp"

namespace scope::active_messages {
namespace {

// Kinds of records.
constexpr std::uint8_t request_record = 1;
constexpr std::uint8_t reply_record = 2;
constexpr std::uint8_t piece_record = 3;  // piece of a put: `Piece` as header, its bytes as payload
constexpr std::uint8_t end_record = 4;    // message that ends a put in pieces
constexpr std::uint8_t read_record = 5;   // put that the receiver reads from the sender: `Piece` as payload

constexpr std::size_t piece_bytes = 8 * 1024;        // maximum part of a put in one record
constexpr std::size_t step_bytes = 4 * 1024 * 1024;  // maximum bytes read from a sender in one poll
constexpr int batch = 64;                            // maximum number of records of one sender in one poll
constexpr auto life_interval = std::chrono::milliseconds(100);

struct Piece {
  Region region;
  std::uint64_t offset;
  std::uint64_t source;  // address in the sender's memory
  std::uint64_t bytes;
};

Bytes bytes_of(const Piece& piece) { return std::as_bytes(std::span(&piece, 1)); }

// State for messages from this endpoint to one peer.
struct Outgoing {
  Peer peer;
  std::optional<PeerInbox> inbox = {};  // empty if the peer was gone before the first message
  std::optional<RingWriter> ring = {};
  std::uint64_t requests = 0;

  // A put through the ring with pieces still to write.
  struct Pieces {
    Put put;
    std::vector<std::byte> header;
    std::size_t written = 0;
  };
  std::optional<Pieces> pieces = {};

  // A put that is complete once the peer has read up to a position.
  struct Pending {
    std::uint64_t position;
    Completion completion;
    void* context;
  };
  std::deque<Pending> pending = {};
  bool dead = false;
};

// State for messages from one peer to this endpoint.
struct Incoming {
  Peer peer;
  RingReader ring;
  Sender* sender;
  pid_t process;
  std::uint64_t requests = 0;  // requests read from the ring
  std::uint64_t granted = 0;
  std::uint64_t read_bytes = 0;  // bytes read of the put at the front of the ring
  bool ended = false;
};

class SharedMemory final : public Channel {
 public:
  SharedMemory(const Options& options, const Address& self)
      : key_(options.session_key), self_(self), inbox_(self, key_) {}

  ~SharedMemory() override { inbox_.head().closed.store(1, std::memory_order_release); }

  std::string name() const override { return "shared memory"; }
  std::size_t message_limit() const override { return record_limit - 2 * record_alignment; }

  void add(Peer peer, const Address& address) override {
    Outgoing& out = outgoing_.emplace_back(Outgoing{.peer = peer});
    if (by_peer_.size() <= peer) by_peer_.resize(peer + 1);
    by_peer_[peer] = &out;
    try {
      out.inbox.emplace(self_, address, key_);
      out.ring.emplace(out.inbox->ring());
    } catch (const PeerInbox::Gone&) {
      // Reported by the next poll.
    }
  }

  Outcome send(Time, Peer peer, Kind kind, const Message& message) override {
    Outgoing& out = *by_peer_[peer];
    if (!out.ring || out.dead) return Outcome::peer_dead;
    if (out.pieces || (kind == Kind::request && !granted(out))) return Outcome::again;
    const std::uint8_t record = kind == Kind::request ? request_record : reply_record;
    if (!write(out, record, message.handler, message.header, message.payload)) return Outcome::again;
    out.requests += kind == Kind::request;
    ++sent_;
    return Outcome::done;
  }

  Outcome put(Time, Peer peer, const Put& put) override {
    Outgoing& out = *by_peer_[peer];
    if (!out.ring || out.dead) return Outcome::peer_dead;
    if (out.pieces || !granted(out)) return Outcome::again;
    const Reading reading = out.inbox->sender().reading.load(std::memory_order_acquire);
    if (reading == Reading::allowed && put.source.size() > piece_bytes) {
      const Piece piece{put.region, put.offset, reinterpret_cast<std::uintptr_t>(put.source.data()),
                        put.source.size()};
      if (!write(out, read_record, put.end.handler, put.end.header, bytes_of(piece))) return Outcome::again;
      out.pending.push_back({out.ring->position(), put.completion, put.context});
    } else {
      out.pieces = {put, {put.end.header.begin(), put.end.header.end()}};
      write_pieces(out);
    }
    ++unfinished_puts_;
    ++out.requests;
    ++sent_;
    return Outcome::done;
  }

  int poll(Time now, Sink& sink) override {
    if (asleep_) wake();
    admit_senders(sink);
    int events = 0;
    for (std::size_t i = 0; i < incoming_.size(); ++i) events += receive(i, sink);
    if (unfinished_puts_ > 0)
      for (Outgoing& out : outgoing_) events += finish_puts(out);
    if (now >= next_look_) {
      next_look_ = now + life_interval;
      for (Outgoing& out : outgoing_) events += look_after(out, sink);
    }
    return events;
  }

  bool idle() const override { return unfinished_puts_ == 0; }

  void farewell(Time) override {
    for (Outgoing& out : outgoing_)
      if (out.inbox) out.inbox->sender().gone.store(1, std::memory_order_release);
  }

  bool arm() override {
    asleep_ = true;
    inbox_.head().asleep.store(1);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const bool something =
        inbox_.head().senders.load() != admitted_ ||
        std::ranges::any_of(incoming_, [](Incoming& in) { return !in.ended && in.ring.front(); });
    if (something) wake();
    return !something;
  }

  int descriptor() const override { return inbox_.bell(); }

  // Nothing wakes this process when a peer has read, so puts in progress are checked by the clock.
  Time due() const override { return idle() ? next_look_ : Clock::now() + std::chrono::microseconds(50); }

  void add_to(Statistics& statistics) const override {
    statistics.messages_sent += sent_;
    statistics.messages_received += received_;
    statistics.corrupt += damaged_;
  }

 private:
  static bool granted(const Outgoing& out) {
    return out.requests < out.inbox->sender().granted.load(std::memory_order_acquire);
  }

  static bool write(Outgoing& out, std::uint8_t kind, Handler handler, Bytes header, Bytes payload) {
    if (!out.ring->write({.handler = handler, .kind = kind}, header, payload)) return false;
    out.inbox->ring_bell();
    return true;
  }

  static void write_pieces(Outgoing& out) {
    const Put& put = out.pieces->put;
    std::size_t& written = out.pieces->written;
    while (written < put.source.size()) {
      const Bytes part = put.source.subspan(written, std::min(piece_bytes, put.source.size() - written));
      const Piece piece{put.region, put.offset + written, 0, part.size()};
      if (!write(out, piece_record, 0, bytes_of(piece), part)) return;
      written += part.size();
    }
    if (!write(out, end_record, put.end.handler, out.pieces->header, {})) return;
    out.pending.push_back({out.ring->position(), put.completion, put.context});
    out.pieces.reset();
  }

  int finish_puts(Outgoing& out) {
    if (out.pieces) write_pieces(out);
    int finished = 0;
    while (!out.pending.empty() && out.ring->was_read(out.pending.front().position)) {
      const Outgoing::Pending done = out.pending.front();
      out.pending.pop_front();
      --unfinished_puts_;
      done.completion(done.context, Outcome::done);
      ++finished;
    }
    return finished;
  }

  void admit_senders(Sink& sink) {
    Inbox& inbox = inbox_.head();
    while (admitted_ < std::min(inbox.senders.load(std::memory_order_acquire), senders_limit)) {
      Sender& sender = inbox.sender[admitted_];
      if (sender.ready.load(std::memory_order_acquire) == 0) return;  // about to be set, or the sender was killed
      const Address address = sender.address;
      std::optional<Peer> peer;
      try {
        peer = sink.admit(address);
      } catch (const Error&) {
        // Messages of a peer that cannot be answered are ignored.
      }
      if (peer) {
        const pid_t process = process_number(address);
        sender.reading.store(readable(process, sender), std::memory_order_release);
        incoming_.push_back(
            {.peer = *peer, .ring = RingReader(inbox_.ring(admitted_)), .sender = &sender, .process = process});
        grant(incoming_.back());
      }
      ++admitted_;
    }
  }

  static Reading readable(pid_t process, const Sender& sender) {
    std::uint64_t value = 0;
    iovec here{&value, sizeof value};
    iovec there{reinterpret_cast<void*>(sender.probe_address), sizeof value};
    const bool done = process_vm_readv(process, &here, 1, &there, 1, 0) == sizeof value;
    return done && value == sender.probe_value ? Reading::allowed : Reading::denied;
  }

  static void grant(Incoming& in) {
    in.granted = in.requests + window;
    in.sender->granted.store(in.granted, std::memory_order_release);
  }

  // Takes an index, because a handler may add peers.
  int receive(std::size_t index, Sink& sink) {
    int delivered = 0;
    for (int i = 0; i < batch && !incoming_[index].ended; ++i) {
      Incoming& in = incoming_[index];
      const auto record = in.ring.front();
      if (!record) break;
      if (!take(in, *record, sink)) break;
      delivered += record->head.kind != piece_record;
      incoming_[index].ring.release();
      if (record->head.kind == read_record) ring_back(incoming_[index].peer);
    }
    Incoming& in = incoming_[index];
    if (in.ring.damaged() && !in.ended) {
      ++damaged_;
      end(in, sink, "sent data that no endpoint sends");
    }
    if (in.granted - in.requests <= window / 2 && sink.open(in.peer)) grant(in);
    return delivered;
  }

  // False while the record must stay in the ring.
  bool take(Incoming& in, const RingReader::Record& record, Sink& sink) {
    const Message message{record.head.handler, record.header, {}};
    switch (record.head.kind) {
      case request_record:
      case reply_record:
        in.requests += record.head.kind == request_record;
        ++received_;
        sink.deliver(in.peer, {record.head.handler, record.header, record.payload});
        return true;
      case piece_record: copy(record, sink); return true;
      case end_record:
        ++in.requests;
        ++received_;
        sink.deliver(in.peer, message);
        return true;
      case read_record: {
        Piece piece;
        if (record.payload.size() != sizeof piece) return true;
        std::memcpy(&piece, record.payload.data(), sizeof piece);
        const bool whole = read(in, piece, sink);
        if (!whole) return false;
        ++in.requests;
        ++received_;
        sink.deliver(in.peer, message);
        return true;
      }
      default: ++damaged_; return true;
    }
  }

  void copy(const RingReader::Record& record, Sink& sink) {
    Piece piece;
    if (record.header.size() != sizeof piece) return;
    std::memcpy(&piece, record.header.data(), sizeof piece);
    std::byte* target = sink.target(piece.region, piece.offset, record.payload.size());
    if (target != nullptr) std::memcpy(target, record.payload.data(), record.payload.size());
  }

  // Reads the next part of a put from the sender's memory; true after the last part.
  bool read(Incoming& in, const Piece& piece, Sink& sink) {
    const std::size_t part = std::min<std::uint64_t>(step_bytes, piece.bytes - in.read_bytes);
    std::byte* target = sink.target(piece.region, piece.offset + in.read_bytes, part);
    if (target != nullptr) {
      iovec here{target, part};
      iovec there{reinterpret_cast<void*>(piece.source + in.read_bytes), part};
      const ssize_t done = process_vm_readv(in.process, &here, 1, &there, 1, 0);
      if (done <= 0) {  // the sender died during its put
        const bool there_is_none = done < 0 && errno == EFAULT;
        end(in, sink, there_is_none ? "passed an invalid address as source or destination of data" : "has ended");
        return false;
      }
      in.read_bytes += static_cast<std::size_t>(done);
    } else {
      in.read_bytes = piece.bytes;  // the region was removed: skip the bytes and only report the end
    }
    if (in.read_bytes < piece.bytes) return false;
    in.read_bytes = 0;
    return true;
  }

  // Wakes the sender of a put, which may sleep until the put was read.
  void ring_back(Peer peer) {
    if (by_peer_[peer]->inbox) by_peer_[peer]->inbox->ring_bell();
  }

  int look_after(Outgoing& out, Sink& sink) {
    if (out.dead) return 0;
    const auto in = std::ranges::find(incoming_, out.peer, &Incoming::peer);
    const bool heard = in != incoming_.end() && !in->ended;
    const bool farewell =
        (heard && in->sender->gone.load(std::memory_order_acquire) != 0) || (out.inbox && out.inbox->closed());
    if (out.inbox && out.inbox->alive() && !farewell) return 0;
    if (heard && in->ring.front()) return 0;  // read its last messages first
    return bury(out, sink, farewell, farewell ? "has closed its endpoint" : "has ended");
  }

  void end(Incoming& in, Sink& sink, const char* how) {
    in.ended = true;
    if (!by_peer_[in.peer]->dead) bury(*by_peer_[in.peer], sink, false, how);
  }

  int bury(Outgoing& out, Sink& sink, bool farewell, const char* how) {
    out.dead = true;
    if (out.pieces) out.pending.push_back({0, out.pieces->put.completion, out.pieces->put.context});
    out.pieces.reset();
    const auto lost = std::exchange(out.pending, {});
    unfinished_puts_ -= lost.size();
    for (const Outgoing::Pending& put : lost) put.completion(put.context, Outcome::peer_dead);
    sink.died(out.peer, farewell, how);
    return static_cast<int>(lost.size());
  }

  void wake() {
    asleep_ = false;
    inbox_.head().asleep.store(0);
    inbox_.silence();
  }

  std::array<std::byte, 16> key_;
  Address self_;
  OwnInbox inbox_;
  std::deque<Outgoing> outgoing_;   // elements never move
  std::vector<Outgoing*> by_peer_;  // nullptr: reached by another channel
  std::size_t unfinished_puts_ = 0;
  std::deque<Incoming> incoming_;
  std::uint32_t admitted_ = 0;
  Time next_look_{};
  bool asleep_ = false;
  std::uint64_t sent_ = 0, received_ = 0, damaged_ = 0;
};

}  // namespace

std::unique_ptr<Channel> shared_memory(const Options& options, const Address& self) {
  return std::make_unique<SharedMemory>(options, self);
}

}  // namespace scope::active_messages
