#include "exchange.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "information.hpp"

namespace scope::provider {

using active_messages::Handler;

struct Exchange::AtomicRequest {
  std::uint64_t operation, key, offset;
  std::uint32_t count;
  std::uint8_t datatype, change;
  AtomicForm form;
};

struct Exchange::Part {
  std::uint64_t offset;
};

struct Exchange::Clearance {
  std::uint64_t operation;  // number of the sender's operation
  Region region;            // region of the receiver
  std::uint64_t bytes;      // number of bytes that the receiver wants; may be 0
  std::uint64_t landing;
};

struct Exchange::Landed {
  std::uint64_t landing;
};

struct Exchange::Answer {
  std::uint64_t operation;
  std::int64_t error;
};

struct Exchange::Remote {
  std::uint64_t operation, key, offset, bytes, data, flags;
  Region region;  // destination of a large read
};

namespace {

constexpr int polls_before_yield = 200;  // takes longer than a round trip on a wire
constexpr auto linger_limit = std::chrono::seconds(1);

template <class Header>
Bytes bytes_of(const Header& header) {
  static_assert(sizeof header <= active_messages::Endpoint::header_limit);
  return std::as_bytes(std::span(&header, 1));
}

std::uint64_t kind_flags(const Envelope& envelope) {
  return (envelope.flags & envelope::tagged ? FI_TAGGED : FI_MSG) |
         (envelope.flags & envelope::with_data ? FI_REMOTE_CQ_DATA : 0);
}

Done done_of(const Send& send) {
  return {.context = send.context,
          .flags = FI_SEND | (send.tag ? FI_TAGGED : FI_MSG),
          .bytes = send.data.size(),
          .tag = send.tag.value_or(0)};
}

int error_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::done: return 0;
    case Outcome::again: return -FI_EAGAIN;
    default: return -FI_EHOSTDOWN;
  }
}

}  // namespace

Exchange::Exchange(const active_messages::Options& options, std::size_t eager_bytes, const MemoryTable& memory,
                   Listener& listener)
    : memory_(memory), listener_(listener), eager_bytes_(eager_bytes), endpoint_(options) {
  // All processes register the same handlers in the same order.
  eager_ = on<Envelope, &Exchange::on_eager>();
  announcement_ = on<Envelope, &Exchange::on_announcement>();
  clearance_ = on<Clearance, &Exchange::on_clearance>();
  landed_bytes_ = on<Landed, &Exchange::on_landed>();
  answer_to_operation_ = on<Answer, &Exchange::on_answer>();
  small_write_ = on<Remote, &Exchange::on_write>();
  large_write_ = on<Remote, &Exchange::on_large_write>();
  read_request_ = on<Remote, &Exchange::on_read>();
  read_data_ = on<Answer, &Exchange::on_read_data>();
  first_part_ = on<Envelope, &Exchange::on_first_part>();
  further_part_ = on<Part, &Exchange::on_part>();
  atomic_request_ = on<AtomicRequest, &Exchange::on_atomic>();
  endpoint_.on_death([](void* context, Peer peer, bool farewell,
                        const std::string& how) { static_cast<Exchange*>(context)->died(peer, farewell, how); },
                     this);
}

Exchange::~Exchange() {
  const auto patience = std::chrono::steady_clock::now() + linger_limit;
  while ((!leaving_.empty() || !queued_.empty()) && std::chrono::steady_clock::now() < patience)
    if (!progress()) endpoint_.wait(std::chrono::microseconds(100));
}

template <class Header, void (Exchange::*member)(Peer, const Header&, Bytes)>
Handler Exchange::on() {
  return endpoint_.handle(
      [](void* context, Peer source, Bytes header, Bytes payload) {
        if (header.size() != sizeof(Header)) return;  // the peer has another version
        Header copy;
        std::memcpy(&copy, header.data(), sizeof copy);
        auto& exchange = *static_cast<Exchange*>(context);
        exchange.in_handler_ = true;
        (exchange.*member)(source, copy, payload);
        exchange.in_handler_ = false;
      },
      this);
}

bool Exchange::fits(Peer peer, std::size_t header, std::size_t bytes) const {
  return header + bytes <= endpoint_.message_limit(peer);
}

// ---- Requests of the program ----

// Sends the first message of an operation that the peer will answer.
template <class Header>
int Exchange::start(Operation operation, Handler handler, Header header, Bytes payload) {
  if (operations_.used() >= operations_limit) return -FI_EAGAIN;
  const Peer peer = operation.peer;
  const std::uint64_t number = operations_.add(std::move(operation));
  Operation& kept = *operations_.find(number);
  kept.exchange = this;
  kept.number = number;
  header.operation = number;
  const Outcome outcome = transmit(peer, handler, bytes_of(header), payload);
  if (outcome != Outcome::done) {
    if (kept.region != 0) endpoint_.remove(kept.region);
    operations_.remove(number);
  }
  return error_of(outcome);
}

// Sends an eager message in parts while there is room; the rest is copied and follows later.
Outcome Exchange::transmit(Peer peer, Handler handler, Bytes header, Bytes payload) {
  if (handler != first_part_) return endpoint_.send(peer, handler, header, payload);
  const std::size_t first = endpoint_.message_limit(peer) - header.size();
  const Outcome outcome = endpoint_.send(peer, first_part_, header, payload.first(first), true);
  if (outcome != Outcome::done) return outcome;
  const std::size_t sent = first + push(peer, payload.subspan(first), first);
  if (sent < payload.size()) {
    const Bytes rest = payload.subspan(sent);
    leaving_.emplace(peer, Parts{{rest.begin(), rest.end()}, sent});
  }
  return Outcome::done;
}

// Sends parts of a message from `offset` while there is room; returns the number of bytes sent.
std::size_t Exchange::push(Peer peer, Bytes bytes, std::size_t offset) {
  const std::size_t room = endpoint_.message_limit(peer) - sizeof(Part);
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const Bytes part = bytes.subspan(sent, std::min(room, bytes.size() - sent));
    const bool more = sent + part.size() < bytes.size();
    if (endpoint_.send(peer, further_part_, bytes_of(Part{offset + sent}), part, more) != Outcome::done) break;
    sent += part.size();
  }
  return sent;
}

int Exchange::send(const Send& send) {
  if (gone(send.peer)) {
    blame(send.peer);
    return -FI_EHOSTDOWN;
  }
  const bool in_line = !queued_.empty() && queued_.contains(send.peer);  // messages stay in order
  const int result = in_line ? -FI_EAGAIN : send_now(send);
  if (result != -FI_EAGAIN || queued_messages_ >= operations_limit) return result;
  Queued& queued = queued_[send.peer].emplace_back(Queued{send, {}});
  ++queued_messages_;
  if (send.injected) {
    queued.copy.assign(send.data.begin(), send.data.end());
    queued.send.data = queued.copy;
  }
  return 0;
}

void Exchange::send_queued() {
  for (auto queue = queued_.begin(); queue != queued_.end();) {
    std::deque<Queued>& messages = queue->second;
    while (!messages.empty()) {
      const Send& next = messages.front().send;
      const int result = send_now(next);
      if (result == -FI_EAGAIN) break;
      if (result != 0) fail(next);
      messages.pop_front();
      --queued_messages_;
    }
    queue = messages.empty() ? queued_.erase(queue) : std::next(queue);
  }
}

int Exchange::send_now(const Send& send) {
  Envelope envelope{send.tag.value_or(0), send.remote_data.value_or(0), 0, send.data.size(),
                    (send.tag ? envelope::tagged : 0) | (send.remote_data ? envelope::with_data : 0)};
  const Done done = done_of(send);
  if (!leaving_.empty() && leaving_.contains(send.peer)) return -FI_EAGAIN;  // messages stay in order
  const bool one = fits(send.peer, sizeof envelope, send.data.size());
  const bool at_once = one || send.data.size() <= eager_bytes_;
  const Handler handler = one ? eager_ : first_part_;
  if (at_once && !send.delivered) {
    const Outcome outcome = transmit(send.peer, handler, bytes_of(envelope), send.data);
    if (outcome == Outcome::done) listener_.sent(done, send.completes);
    return error_of(outcome);
  }
  Operation operation{.peer = send.peer, .source = send.data, .done = done, .completes = send.completes};
  if (at_once) return start(std::move(operation), handler, envelope, send.data);
  if (send.injected) {
    operation.copy.assign(send.data.begin(), send.data.end());
    operation.source = operation.copy;  // moving a vector does not move its bytes
  }
  return start(std::move(operation), announcement_, envelope, {});
}

int Exchange::write(const Access& access) {
  Remote remote{0,
                access.key,
                access.offset,
                access.bytes,
                access.remote_data.value_or(0),
                access.remote_data ? envelope::with_data : 0,
                0};
  const Bytes source{access.buffer, access.bytes};
  Operation operation{.peer = access.peer,
                      .source = source,
                      .done = {.context = access.context, .flags = FI_RMA | FI_WRITE, .bytes = access.bytes},
                      .completes = access.completes};
  if (fits(access.peer, sizeof remote, access.bytes))
    return start(std::move(operation), small_write_, remote, source);
  if (access.injected) {
    operation.copy.assign(source.begin(), source.end());
    operation.source = operation.copy;
  }
  return start(std::move(operation), large_write_, remote, {});
}

int Exchange::read(const Access& access) {
  const bool small = fits(access.peer, sizeof(Answer), access.bytes);
  const Remote remote{
      0, access.key, access.offset, access.bytes, 0, 0, small ? 0 : endpoint_.expose(access.buffer, access.bytes)};
  return start(Operation{.peer = access.peer,
                         .target = access.buffer,
                         .region = remote.region,
                         .done = {.context = access.context, .flags = FI_RMA | FI_READ, .bytes = access.bytes},
                         .completes = access.completes},
               read_request_, remote, {});
}

int Exchange::atomic(const Atomic& atomic) {
  const std::size_t bytes = atomic.count * element_bytes(atomic.datatype);
  const bool fetches = atomic.form != AtomicForm::write;
  std::array<std::byte, 2 * atomic_bytes_limit> operands{};
  if (atomic.operand != nullptr) std::memcpy(operands.data(), atomic.operand, bytes);
  if (atomic.compare != nullptr) std::memcpy(operands.data() + bytes, atomic.compare, bytes);
  const AtomicRequest request{0,
                              atomic.key,
                              atomic.offset,
                              static_cast<std::uint32_t>(atomic.count),
                              static_cast<std::uint8_t>(atomic.datatype),
                              static_cast<std::uint8_t>(atomic.operation),
                              atomic.form};
  const std::size_t sent = atomic.form == AtomicForm::compare ? 2 * bytes : bytes;
  if (!fits(atomic.peer, sizeof request, sent)) return -FI_EMSGSIZE;
  return start(
      Operation{
          .peer = atomic.peer,
          .target = fetches ? static_cast<std::byte*>(atomic.result) : nullptr,
          .done = {.context = atomic.context, .flags = FI_ATOMIC | (fetches ? FI_READ : FI_WRITE), .bytes = bytes},
          .completes = atomic.completes},
      atomic_request_, request, Bytes(operands).first(sent));
}

void Exchange::receive(bool tagged, Receive receive) {
  Matching& matching = tagged ? tagged_ : plain_;
  for (;;) {
    std::optional<Arrival> arrival = matching.arrival_for(receive);
    if (!arrival) break;
    take(receive, arrival->source, arrival->envelope, arrival->whole, arrival->payload);
    if (!receive.shared || receive.shared->left < receive.shared->minimum) return;
  }
  if (receive.source != any_peer) {
    if (gone(receive.source)) return fail(receive, tagged, receive.source);
    endpoint_.await(receive.source);
  } else if (!receive.shared) {
    if (last_departed_ && endpoint_.alone()) return fail(receive, tagged, *last_departed_);
    await_all();
  }
  matching.post(std::move(receive));
}

void Exchange::peek(bool tagged, const Receive& receive, bool claim, bool discard) {
  progress();
  Matching& matching = tagged ? tagged_ : plain_;
  const Arrival* arrival = matching.first_for(receive);
  Done done{.context = receive.context, .flags = FI_RECV | (tagged ? FI_TAGGED : FI_MSG), .tag = receive.tag};
  if (arrival == nullptr) {
    done.error = FI_ENOMSG;
    listener_.received(done, true);
    return;
  }
  done.flags = FI_RECV | kind_flags(arrival->envelope);
  done.bytes = arrival->envelope.bytes;
  done.data = arrival->envelope.data;
  done.tag = arrival->envelope.tag;
  done.source = arrival->source;
  if (claim || discard) {
    Arrival taken = *matching.arrival_for(receive);
    if (discard)
      refuse(taken);
    else
      claimed_.insert_or_assign(receive.context, std::move(taken));
  }
  listener_.received(done, receive.completes);
}

int Exchange::receive_claimed(const Receive& receive, bool discard) {
  auto claimed = claimed_.extract(receive.context);
  if (claimed.empty()) return -FI_EINVAL;
  const Arrival& arrival = claimed.mapped();
  if (discard) {
    refuse(arrival);
    listener_.received({.context = receive.context, .flags = FI_RECV | kind_flags(arrival.envelope)},
                       receive.completes);
  } else {
    take(receive, arrival.source, arrival.envelope, arrival.whole, arrival.payload);
  }
  return 0;
}

int Exchange::cancel(const void* context) {
  for (Matching* matching : {&tagged_, &plain_}) {
    if (const std::optional<Receive> receive = matching->cancel(context)) {
      listener_.received({.context = receive->context,
                          .flags = FI_RECV | (matching == &tagged_ ? FI_TAGGED : FI_MSG),
                          .tag = receive->tag,
                          .error = FI_ECANCELED},
                         true);
      return 0;
    }
  }
  return -FI_ENOENT;
}

// ---- Messages ----

void Exchange::on_eager(Peer source, const Envelope& envelope, Bytes payload) {
  if (envelope.bytes == payload.size()) arrived(source, envelope, true, payload);
}

void Exchange::on_first_part(Peer source, const Envelope& envelope, Bytes payload) {
  if (envelope.bytes > eager_bytes_most || envelope.bytes <= payload.size()) return;
  Assembly& assembly = assembled_[source];
  assembly.envelope = envelope;
  assembly.bytes.reserve(envelope.bytes);
  assembly.bytes.assign(payload.begin(), payload.end());
}

void Exchange::on_part(Peer source, const Part& part, Bytes payload) {
  const auto found = assembled_.find(source);
  if (found == assembled_.end()) return;
  auto& [envelope, bytes] = found->second;
  if (part.offset != bytes.size() || payload.size() > envelope.bytes - bytes.size()) return;
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  if (bytes.size() < envelope.bytes) return;
  arrived(source, envelope, true, bytes);
  bytes.clear();
  envelope.bytes = 0;
}

void Exchange::on_announcement(Peer source, const Envelope& envelope, Bytes) {
  arrived(source, envelope, false, {});
}

void Exchange::arrived(Peer source, const Envelope& envelope, bool whole, Bytes payload) {
  Matching& matching = envelope.flags & envelope::tagged ? tagged_ : plain_;
  if (std::optional<Receive> receive = matching.receive_for(source, envelope))
    take(std::move(*receive), source, envelope, whole, payload);
  else
    matching.keep({source, envelope, whole, {payload.begin(), payload.end()}});
}

void Exchange::take(Receive receive, Peer source, const Envelope& envelope, bool whole, Bytes payload) {
  const bool tagged = (envelope.flags & envelope::tagged) != 0;
  SharedBuffer* shared = receive.shared.get();
  std::byte* place = shared ? shared->next : receive.buffer;
  const std::size_t room = shared ? shared->left : receive.bytes;
  const std::size_t bytes = std::min<std::uint64_t>(envelope.bytes, room);
  if (shared) {
    shared->next += bytes;
    shared->left -= bytes;
    if (shared->left < shared->minimum) (tagged ? tagged_ : plain_).retire(*shared);
  }
  const Done done{.context = receive.context,
                  .flags = FI_RECV | kind_flags(envelope),
                  .bytes = bytes,
                  .buffer = place,
                  .data = envelope.data,
                  .tag = envelope.tag,
                  .source = source,
                  .error = envelope.bytes > room ? FI_ETRUNC : 0,
                  .excess_bytes = envelope.bytes - bytes};
  if (!whole && gone(source)) {
    Done failed = done;
    failed.bytes = 0;
    failed.error = FI_EHOSTDOWN;
    failed.cause = blame(source);
    finish(failed, receive.completes, shared);
  } else if (whole) {
    if (bytes > 0) std::memcpy(place, payload.data(), bytes);
    if (envelope.operation != 0) answer(source, answer_to_operation_, Answer{envelope.operation, 0});
    finish(done, receive.completes, shared);
  } else if (bytes == 0) {
    clear(source, envelope.operation, 0, 0, 0);
    finish(done, receive.completes, shared);
  } else {
    if (shared) ++shared->landing;
    const Region region = endpoint_.expose(place, bytes);
    const std::uint64_t landing =
        landings_.add({done, region, receive.completes, false, std::move(receive.shared)});
    clear(source, envelope.operation, region, bytes, landing);
  }
}

// The last completion of a message in a shared buffer returns the buffer to the program.
void Exchange::finish(Done done, bool completes, SharedBuffer* shared) {
  const bool released = shared && shared->left < shared->minimum && shared->landing == 0;
  if (released) done.flags |= FI_MULTI_RECV;
  listener_.received(done, completes || released);
}

// The bytes of this message are not wanted.
void Exchange::refuse(const Arrival& arrival) {
  if (!arrival.whole)
    clear(arrival.source, arrival.envelope.operation, 0, 0, 0);
  else if (arrival.envelope.operation != 0)
    answer(arrival.source, answer_to_operation_, Answer{arrival.envelope.operation, 0});
}

void Exchange::clear(Peer peer, std::uint64_t operation, Region region, std::size_t bytes, std::uint64_t landing) {
  answer(peer, clearance_, Clearance{operation, region, bytes, landing});
}

void Exchange::on_clearance(Peer source, const Clearance& clearance, Bytes) {
  Operation* operation = operations_.find(clearance.operation);
  if (operation == nullptr || operation->peer != source || clearance.bytes > operation->source.size()) return;
  if (clearance.bytes == 0) return complete(clearance.operation, 0);
  Waiting put{.peer = source,
              .handler = landed_bytes_,
              .header_bytes = sizeof(Landed),
              .region = clearance.region,
              .source = operation->source.first(clearance.bytes),
              .operation = clearance.operation};
  const Landed landed{clearance.landing};
  std::memcpy(put.header.data(), &landed, sizeof landed);
  waiting_.push_back(put);
}

void Exchange::on_landed(Peer source, const Landed& landed, Bytes) {
  Landing* found = landings_.find(landed.landing);
  if (found == nullptr || found->done.source != source) return;
  const Landing landing = std::move(*found);
  landings_.remove(landed.landing);
  endpoint_.remove(landing.region);
  if (landing.shared) --landing.shared->landing;
  if (!landing.access)
    finish(landing.done, landing.completes, landing.shared.get());
  else if (landing.done.flags & FI_REMOTE_CQ_DATA)
    listener_.received(landing.done, true);
}

void Exchange::on_answer(Peer source, const Answer& answer, Bytes) {
  const Operation* operation = operations_.find(answer.operation);
  if (operation != nullptr && operation->peer == source)
    complete(answer.operation, static_cast<int>(answer.error));
}

void Exchange::complete(std::uint64_t number, int error) {
  Operation* operation = operations_.find(number);
  if (operation == nullptr) return;
  Done done = operation->done;
  done.error = error;
  if (error == FI_EHOSTDOWN && gone(operation->peer)) done.cause = blame(operation->peer);
  const bool completes = operation->completes;
  if (operation->region != 0) endpoint_.remove(operation->region);
  operations_.remove(number);
  if (done.flags & (FI_RMA | FI_ATOMIC))
    listener_.accessed(done, completes);
  else
    listener_.sent(done, completes);
}

// ---- Remote memory ----

void Exchange::on_write(Peer source, const Remote& remote, Bytes payload) {
  std::byte* place = memory_.find(remote.key, remote.offset, payload.size(), FI_REMOTE_WRITE);
  if (place != nullptr && !payload.empty()) std::memcpy(place, payload.data(), payload.size());
  if (place != nullptr && remote.flags & envelope::with_data)
    listener_.received({.flags = FI_REMOTE_WRITE | FI_RMA | FI_REMOTE_CQ_DATA,
                        .bytes = payload.size(),
                        .data = remote.data,
                        .source = source},
                       true);
  answer(source, answer_to_operation_, Answer{remote.operation, place == nullptr ? FI_EACCES : 0});
}

void Exchange::on_large_write(Peer source, const Remote& remote, Bytes) {
  std::byte* place = memory_.find(remote.key, remote.offset, remote.bytes, FI_REMOTE_WRITE);
  if (place == nullptr || remote.bytes == 0)
    return answer(source, answer_to_operation_, Answer{remote.operation, FI_EACCES});
  const Region region = endpoint_.expose(place, remote.bytes);
  const Done done{.flags = FI_REMOTE_WRITE | FI_RMA |
                           (remote.flags & envelope::with_data ? FI_REMOTE_CQ_DATA : std::uint64_t{0}),
                  .bytes = remote.bytes,
                  .data = remote.data,
                  .source = source};
  clear(source, remote.operation, region, remote.bytes, landings_.add({done, region, false, true, nullptr}));
}

void Exchange::on_read(Peer source, const Remote& remote, Bytes) {
  std::byte* place = memory_.find(remote.key, remote.offset, remote.bytes, FI_REMOTE_READ);
  if (place == nullptr) return answer(source, answer_to_operation_, Answer{remote.operation, FI_EACCES});
  const Answer head{remote.operation, 0};
  if (remote.region == 0) {
    if (fits(source, sizeof head, remote.bytes))
      endpoint_.reply(source, read_data_, bytes_of(head), {place, remote.bytes});
    return;
  }
  Waiting put{.peer = source,
              .handler = read_data_,
              .header_bytes = sizeof head,
              .region = remote.region,
              .source = {place, remote.bytes}};
  std::memcpy(put.header.data(), &head, sizeof head);
  waiting_.push_back(put);
}

void Exchange::on_atomic(Peer source, const AtomicRequest& request, Bytes payload) {
  const std::size_t bytes = request.count * element_bytes(request.datatype);
  const bool compares = request.form == AtomicForm::compare;
  const bool fetches = request.form != AtomicForm::write;
  const bool known = request.form <= AtomicForm::compare && bytes <= atomic_bytes_limit &&
                     payload.size() == (compares ? 2 * bytes : bytes) &&
                     supported(request.form, request.datatype, request.change);
  const std::uint64_t access =
      (fetches ? FI_REMOTE_READ : 0) | (request.change == FI_ATOMIC_READ ? 0 : FI_REMOTE_WRITE);
  std::byte* place = known ? memory_.find(request.key, request.offset, bytes, access) : nullptr;
  if (place == nullptr) return answer(source, answer_to_operation_, Answer{request.operation, FI_EACCES});
  std::array<std::byte, atomic_bytes_limit> old;
  apply(request.datatype, request.change, place, request.count, payload.data(),
        compares ? payload.data() + bytes : nullptr, old.data());
  const Answer head{request.operation, 0};
  if (fetches)
    endpoint_.reply(source, read_data_, bytes_of(head), Bytes(old).first(bytes));
  else
    answer(source, answer_to_operation_, head);
}

// Completes a small read with the bytes in the answer, and a large read after its bytes were put in place.
void Exchange::on_read_data(Peer source, const Answer& answer, Bytes payload) {
  Operation* operation = operations_.find(answer.operation);
  if (operation == nullptr || operation->peer != source || operation->target == nullptr) return;
  if (operation->region == 0) {
    if (payload.size() != operation->done.bytes) return;
    if (!payload.empty()) std::memcpy(operation->target, payload.data(), payload.size());
  }
  complete(answer.operation, static_cast<int>(answer.error));
}

// ---- Messages of the protocol itself ----

template <class Header>
void Exchange::answer(Peer peer, Handler handler, const Header& header) {
  if (in_handler_) {
    endpoint_.reply(peer, handler, bytes_of(header), {});
    return;
  }
  Waiting message{.peer = peer, .handler = handler, .header_bytes = sizeof header};
  std::memcpy(message.header.data(), &header, sizeof header);
  if (attempt(message) == Outcome::again) waiting_.push_back(message);
}

Outcome Exchange::attempt(const Waiting& waiting) {
  const Bytes header = std::span(waiting.header).first(waiting.header_bytes);
  if (waiting.region == 0) return endpoint_.send(waiting.peer, waiting.handler, header, {});
  Operation* operation = waiting.operation == 0 ? nullptr : operations_.find(waiting.operation);
  if (waiting.operation != 0 && operation == nullptr) return Outcome::done;  // it failed meanwhile
  const Outcome outcome = endpoint_.put(
      waiting.peer, waiting.region, 0, waiting.source, waiting.handler, header,
      [](void* context, Outcome ended) {
        if (context == nullptr) return;
        const auto* of = static_cast<Operation*>(context);
        of->exchange->complete(of->number, ended == Outcome::done ? 0 : FI_EHOSTDOWN);
      },
      operation);
  if (outcome == Outcome::peer_dead && operation != nullptr) complete(waiting.operation, FI_EHOSTDOWN);
  return outcome;
}

bool Exchange::progress() {
  if (endpoint_.poll() > 0 || !waiting_.empty())
    fruitless_polls_ = 0;
  else
    ++fruitless_polls_;
  // Tries each entry once, so that a peer without room does not delay the others.
  for (std::size_t left = waiting_.size(); left > 0; --left) {
    const Waiting next = waiting_.front();
    waiting_.pop_front();
    if (attempt(next) == Outcome::again) waiting_.push_back(next);
  }
  for (auto parts = leaving_.begin(); parts != leaving_.end();) {
    auto& [bytes, offset, sent] = parts->second;
    sent += push(parts->first, Bytes(bytes).subspan(sent), offset + sent);
    parts = sent == bytes.size() ? leaving_.erase(parts) : std::next(parts);
  }
  send_queued();
  return fruitless_polls_ <= polls_before_yield;
}

// ---- The end of a peer ----

// The reason why a peer is gone, for completions. MPI libraries rarely print it, so we do, the first time.
const std::string& Exchange::blame(Peer peer) {
  Departed& departed = departed_[peer];
  if (!std::exchange(departed.told, true))
    std::fprintf(stderr, "libfabric provider scope: %s; operations with this peer fail\n", departed.how.c_str());
  return departed.how;
}

void Exchange::fail(const Receive& receive, bool tagged, Peer departed) {
  listener_.received({.context = receive.context,
                      .flags = FI_RECV | (tagged ? FI_TAGGED : FI_MSG),
                      .tag = receive.tag,
                      .source = departed,
                      .error = FI_EHOSTDOWN,
                      .cause = blame(departed)},
                     true);
}

void Exchange::fail(const Send& send) {
  Done done = done_of(send);
  done.error = FI_EHOSTDOWN;
  if (gone(send.peer)) done.cause = blame(send.peer);
  listener_.sent(done, send.completes);
}

void Exchange::fail_all(Peer source, Peer departed) {
  for (Matching* matching : {&tagged_, &plain_})
    for (const Receive& receive : matching->withdraw(source)) fail(receive, matching == &tagged_, departed);
}

// Expects something from every peer, so that the death of a silent peer is noticed, too.
void Exchange::await_all() {
  for (; awaited_ < endpoint_.peers(); ++awaited_) endpoint_.await(awaited_);
}

// Fails everything that only this peer could have completed; puts to it have failed already. A receive from any
// source fails if a process dies, because it may have been the awaited sender; if a process leaves in order, it
// fails only if no other peer is left.
void Exchange::died(Peer peer, bool farewell, const std::string& how) {
  if (departed_.size() <= peer) departed_.resize(peer + 1);
  leaving_.erase(peer);
  assembled_.erase(peer);
  departed_[peer].how = endpoint_.name(peer) + " " + how;
  for (const std::uint64_t number :
       operations_.numbers([=](const Operation& operation) { return operation.peer == peer; }))
    complete(number, FI_EHOSTDOWN);
  if (const auto queued = queued_.extract(peer)) {
    queued_messages_ -= queued.mapped().size();
    for (const Queued& queued_send : queued.mapped()) fail(queued_send.send);
  }
  for (const std::uint64_t number :
       landings_.numbers([=](const Landing& landing) { return landing.done.source == peer; })) {
    Landing landing = std::move(*landings_.find(number));
    landings_.remove(number);
    endpoint_.remove(landing.region);
    if (landing.shared) --landing.shared->landing;
    landing.done.bytes = 0;
    landing.done.error = FI_EHOSTDOWN;
    if (landing.access) continue;
    landing.done.cause = blame(peer);
    finish(std::move(landing.done), landing.completes, landing.shared.get());
  }
  fail_all(peer, peer);
  last_departed_ = peer;
  if (!farewell || endpoint_.alone()) fail_all(any_peer, peer);
}

}  // namespace scope::provider
