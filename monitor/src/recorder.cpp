#include "recorder.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>

#include "files.hpp"
#include "handles.hpp"
#include "sampling.hpp"
#include "waiting.hpp"

namespace scope {

thread_local constinit Thread thread;

namespace {

std::atomic_flag tables_taken = ATOMIC_FLAG_INIT;

// A cache of recent rows, so that the table is rarely searched; fields that vary between calls select the slot.
struct Recent {
  const void* caller;
  u8 key;
  CallRow* row;
};
constexpr std::size_t recent_capacity = 1024;
Recent recent[recent_capacity];

// Routine, size class and communicator size in one number, never 0.
u8 key_of_row(u4 routine, u4 size_class, u4 communicator_size) {
  return static_cast<u8>(communicator_size) << 32 | routine << 8 | size_class;
}

Recent& recent_of(const void* caller, u8 key) {
  static_assert(recent_capacity == 1 << (64 - 54));
  return recent[((key ^ reinterpret_cast<u8>(caller)) * 0x9e3779b97f4a7c15u) >> 54];
}

CallRow& find_row(u4 routine, u4 site, u4 communicator_size, u4 size_class, i4 region) {
  const u8 hash = mixed(key_of_row(routine, size_class, communicator_size) ^ static_cast<u8>(site) << 20) +
                  mixed(static_cast<u8>(static_cast<u4>(region)));
  for (u4 probe = 0; probe < profile.call_rows - 1; ++probe) {
    CallRow& row = profile.calls[1 + (hash + probe) % (profile.call_rows - 1)];
    if (!row.used) {
      row.routine = routine;
      row.site = site;
      row.communicator_size = communicator_size;
      row.size_class = size_class;
      row.region = region;
      row.min_ticks = UINT64_MAX;
      row.used = 1;
      return row;
    }
    if (row.routine == routine && row.site == site && row.communicator_size == communicator_size &&
        row.size_class == size_class && row.region == region)
      return row;
  }
  CallRow& overflow = profile.calls[0];
  if (!overflow.used) {
    overflow.site = no_site;
    overflow.min_ticks = UINT64_MAX;
    overflow.used = 1;
  }
  return overflow;
}

WaitRow* find_wait(u4 operation, u4 site, u4 communicator_size, u4 size_class) {
  static_assert(wait_capacity == 1 << 10);
  const u8 hash = spread(key_of_row(operation, size_class, communicator_size) ^ static_cast<u8>(site) << 20) >> 54;
  for (u4 probe = 0; probe < wait_capacity; ++probe) {
    WaitRow& row = profile.waits[(hash + probe) % wait_capacity];
    if (!row.used) {
      row.operation = operation;
      row.site = site;
      row.communicator_size = communicator_size;
      row.size_class = size_class;
      row.used = 1;
      return &row;
    }
    if (row.operation == operation && row.site == site && row.communicator_size == communicator_size &&
        row.size_class == size_class)
      return &row;
  }
  return nullptr;
}

PartnerRow& partner_row(int rank) {
  const bool fits = rank >= 0 && static_cast<u4>(rank) + 1 < profile.partner_rows;
  PartnerRow& row = profile.partners[fits ? rank + 1 : 0];
  if (!fits && rank >= 0) ++profile.process->lost_partners;
  if (!row.used) {
    row.rank = fits ? rank : -1;
    row.used = 1;
  }
  return row;
}

void count_sent(int partner, u8 bytes, u8 ticks) {
  PartnerRow& row = partner_row(partner);
  ++row.sent_messages;
  row.sent_bytes += bytes;
  row.send_ticks += ticks;
  profile.process->sent_bytes += bytes;
}

void count_received(int partner, u8 bytes, u8 ticks) {
  PartnerRow& row = partner_row(partner);
  ++row.received_messages;
  row.received_bytes += bytes;
  row.receive_ticks += ticks;
  profile.process->received_bytes += bytes;
}

// The histogram bin of a call is known only after the second clock read, and a processor that must wait for an
// address loses more time than in all the rest. So each call adds the previous call to the histogram.
[[gnu::always_inline]] inline void count(CallRow& row, u8 ticks, u8 bytes) {
  if (row.calls) [[likely]] {
    const int bit = 63 - __builtin_clzll(row.last_ticks | 1);
    u4& bin = row.histogram[std::min(bit, histogram_buckets - 1)];
    bin += bin != UINT32_MAX;
  }
  row.last_ticks = ticks;
  ++row.calls;
  row.ticks += ticks;
  if (ticks < row.min_ticks) [[unlikely]]
    row.min_ticks = ticks;
  if (ticks > row.max_ticks) [[unlikely]]
    row.max_ticks = ticks;
  row.bytes += bytes;
}

}  // namespace

void lock_tables() {
  for (int turns = 0; tables_taken.test_and_set(std::memory_order_acquire); ++turns)
    if (turns % 64 == 63) sched_yield();
}
void unlock_tables() { tables_taken.clear(std::memory_order_release); }

void forget_recent() { std::fill(recent, recent + recent_capacity, Recent{}); }

[[gnu::noinline]] CallRow* Call::find_in_table(u4 communicator_size, u4 size_class, u8 key) {
  CallRow& row = find_row(routine_, site_of(caller_), communicator_size, size_class, current_region->number);
  recent_of(caller_, key) = {caller_, key, &row};
  return &row;
}

// The most frequently used descriptions are `flatten`: their callees are inlined, which saves up to 1 ns per call.
// Rare work is `noinline`.

// The row in which this call is counted.
[[gnu::always_inline]] inline void Call::find(const CallDescription& meaning) {
  const u4 size_class = size_class_of(meaning.bytes);
  const u8 key = key_of_row(routine_, size_class, meaning.communicator_size);
  const Recent& last = recent_of(caller_, key);
  row_ = last.caller == caller_ && last.key == key ? last.row
                                                   : find_in_table(meaning.communicator_size, size_class, key);
}

// Rare work at the end of a call.
[[gnu::noinline]] void Call::attend(const CallDescription& meaning) {
  if (tracing()) trace(meaning, 0, 0);
  if (end_ >= next_sample_tick) sample(end_);
  attention_tick = end_ < trace_end ? 0 : next_sample_tick;
}

// Counts the call and unlocks the tables.
[[gnu::always_inline]] inline void Call::finish(const CallDescription& meaning) {
  const u8 ticks = end_ - begin_;
  ProcessRow& process = *profile.process;
  count(*row_, ticks, meaning.bytes);
  if (row_ == profile.calls) [[unlikely]]
    ++process.lost_calls;
  ++process.calls;
  (thread.initialized_mpi ? process.mpi_ticks : process.other_threads_mpi_ticks) += ticks;
  process.last_tick = end_;
  if (end_ >= attention_tick) [[unlikely]]
    attend(meaning);
  if (several_threads) [[unlikely]]
    unlock_tables();
}

void Call::waits() { find({}); }
void Call::waited() { finish({}); }

[[gnu::always_inline]] inline void Call::record(const CallDescription& meaning) {
  find(meaning);
  finish(meaning);
}

[[gnu::noinline]] PlainCall::PlainCall(u4 routine, const void* caller) : Call(routine, caller) {}
[[gnu::noinline]] bool PlainCall::ends(int code) { return Call::ends(code); }

void Call::local() { record({}); }

[[gnu::noinline]] void Call::trace(const CallDescription& meaning, u4 depth, u4 operation) {
  if (begin_ >= trace_end || end_ < trace_begin) return;
  static u4 events = 0;
  if (events == profile.event_rows) {
    ++profile.process->lost_events;
    return;
  }
  EventRow& event = profile.events[events++];
  event.routine = routine_;
  event.begin_tick = begin_;
  event.end_tick = end_;
  event.site = row_ ? row_->site : no_site;
  event.depth = depth;
  event.partner = meaning.partner;
  event.tag = meaning.tag;
  event.direction = static_cast<i4>(meaning.direction);
  event.operation = operation;
  event.communicator = meaning.communicator;
  event.bytes = meaning.bytes;
  event.used = 1;
}

void Call::nested() {
  if (!recording || !counting) return;
  end_ = ticks_now();
  const Locked locked;
  trace({}, static_cast<u4>(thread.depth), 0);
}

void Call::collective(const Members& members, u8 bytes) {
  profile.process->sent_bytes += bytes;
  record({.communicator_size = members.size, .bytes = bytes, .communicator = members.identity});
}

[[gnu::flatten]] void Call::sent(MPI_Comm comm, int destination, int tag, u8 bytes) {
  const Members& members = members_of(comm);
  if (destination == MPI_PROC_NULL) [[unlikely]]
    return record({.communicator_size = members.size});
  const int partner = members.world_rank(destination);
  count_sent(partner, bytes, ticks());
  record({members.size, bytes, Direction::send, partner, tag, members.identity});
}

[[gnu::flatten]] void Call::received(MPI_Comm comm, const MPI_Status& status) {
  const Members& members = members_of(comm);
  if (status.MPI_SOURCE == MPI_PROC_NULL) [[unlikely]]
    return record({.communicator_size = members.size});
  const u8 bytes = received_bytes(status);
  const int partner = members.world_rank(status.MPI_SOURCE);
  count_received(partner, bytes, ticks());
  record({members.size, bytes, Direction::receive, partner, status.MPI_TAG, members.identity});
}

// Counts the bytes sent; half of the time is attributed to sending.
void Call::exchanged(MPI_Comm comm, int destination, int tag, u8 bytes, const MPI_Status& status) {
  const Members& members = members_of(comm);
  CallDescription sending{.communicator_size = members.size, .tag = tag, .communicator = members.identity};
  if (destination != MPI_PROC_NULL) {
    sending.bytes = bytes;
    sending.direction = Direction::send;
    sending.partner = members.world_rank(destination);
    count_sent(sending.partner, bytes, ticks() / 2);
  }
  find(sending);
  if (status.MPI_SOURCE != MPI_PROC_NULL) {
    const CallDescription receiving{members.size,       received_bytes(status),
                                    Direction::receive, members.world_rank(status.MPI_SOURCE),
                                    status.MPI_TAG,     members.identity};
    count_received(receiving.partner, receiving.bytes, ticks() - ticks() / 2);
    if (tracing()) trace(receiving, 1, 0);
  }
  finish(sending);
}

// Records a request of this call, so that its waits can be attributed; nullptr if the table is full.
Request* Call::track(std::uint64_t key, const CallDescription& meaning) {
  Request* request = add_request(key);
  if (!request) return nullptr;
  request->routine = routine_;
  request->site = row_->site;
  request->communicator_size = meaning.communicator_size;
  request->bytes = meaning.bytes;
  request->partner = meaning.partner;
  request->tag = meaning.tag;
  request->identity = meaning.communicator;
  request->direction = meaning.direction;
  request->members = nullptr;
  request->persistent = request->cancelled = request->message = false;
  request->active = true;
  return request;
}

// Records a call that started an operation with a request.
void Call::begun(const CallDescription& meaning, MPI_Request request) {
  find(meaning);
  track(key_of(request), meaning);
  finish(meaning);
}

// Records a call that made a persistent request, which sends nothing yet; `fill` adds what each start sends.
template <class Fill>
void Call::prepared(const CallDescription& meaning, MPI_Request request, Fill fill) {
  find(meaning);
  if (Request* tracked = track(key_of(request), meaning)) {
    tracked->persistent = true;
    tracked->active = false;
    fill(tracked);
  }
  finish(meaning);
}

// The description of a send; its bytes are counted now.
CallDescription Call::sending(const Members& members, int destination, int tag, u8 bytes) {
  if (destination == MPI_PROC_NULL)
    return {.communicator_size = members.size, .tag = tag, .communicator = members.identity};
  const int partner = members.world_rank(destination);
  count_sent(partner, bytes, ticks());
  return {members.size, bytes, Direction::send, partner, tag, members.identity};
}

[[gnu::flatten]] void Call::started_send(MPI_Comm comm, int destination, int tag, u8 bytes, MPI_Request request) {
  begun(sending(members_of(comm), destination, tag, bytes), request);
}

namespace {

// A request whose sender and bytes are known at completion.
void expects(Request* request, Members& members) {
  if (!request) return;
  request->direction = Direction::receive;
  request->members = &members;
  ++members.open_receives;
}

}  // namespace

[[gnu::flatten]] void Call::started_receive(MPI_Comm comm, MPI_Request request) {
  Members& members = members_of(comm);
  const CallDescription meaning{.communicator_size = members.size, .communicator = members.identity};
  find(meaning);
  expects(track(key_of(request), meaning), members);
  finish(meaning);
}

void Call::started_exchange(MPI_Comm comm, int destination, int tag, u8 bytes, MPI_Request request) {
  Members& members = members_of(comm);
  const CallDescription meaning = sending(members, destination, tag, bytes);
  find(meaning);
  expects(track(key_of(request), meaning), members);
  finish(meaning);
}

void Call::started(MPI_Comm comm, u8 bytes, MPI_Request request) {
  const Members& members = members_of(comm);
  const CallDescription meaning{
      .communicator_size = members.size, .bytes = bytes, .communicator = members.identity};
  profile.process->sent_bytes += bytes;
  begun(meaning, request);
}

void Call::file(MPI_File file, u8 bytes, bool memory_has_gaps) {
  const File& known = known_file(file);
  count_file(routine_, known, bytes, ticks(), memory_has_gaps);
  record({.communicator_size = known.sharers, .bytes = bytes});
}

void Call::opened_file(MPI_File file, MPI_Comm comm, const char* name) {
  count_file(routine_, opened(file, comm, name), 0, ticks());
  collective(comm, 0);
}

void Call::closed_file(MPI_File file) {
  this->file(file, 0);
  forget_file(file);
}

void Call::viewed_file(MPI_File file, bool has_gaps) {
  this->file(file, 0);
  view_file(file, has_gaps);
}

void Call::started_file(MPI_File file, u8 bytes, bool memory_has_gaps, MPI_Request request) {
  const File& known = known_file(file);
  count_file(routine_, known, bytes, ticks(), memory_has_gaps);
  begun({.communicator_size = known.sharers, .bytes = bytes}, request);
}

void Call::prepared(MPI_Comm comm, u8 bytes, MPI_Request request) {
  const Members& members = members_of(comm);
  prepared({.communicator_size = members.size, .communicator = members.identity}, request,
           [=](Request* tracked) { tracked->bytes = bytes; });
}

void Call::prepared_send(MPI_Comm comm, int destination, int tag, u8 bytes, MPI_Request request) {
  const Members& members = members_of(comm);
  prepared({.communicator_size = members.size, .tag = tag, .communicator = members.identity}, request,
           [&](Request* tracked) {
             if (destination == MPI_PROC_NULL) return;
             tracked->bytes = bytes;
             tracked->direction = Direction::send;
             tracked->partner = members.world_rank(destination);
           });
}

void Call::prepared_receive(MPI_Comm comm, MPI_Request request) {
  Members& members = members_of(comm);
  prepared({.communicator_size = members.size, .communicator = members.identity}, request,
           [&](Request* tracked) { expects(tracked, members); });
}

// MPI_Start and MPI_Startall: the data that they send are counted now.
void Call::activated(const Waiting& started) {
  CallDescription meaning;
  for (int i = 0; i < started.count(); ++i) {
    Request* request = find_request(started.key(i));
    if (!request) continue;
    request->active = true;
    meaning.bytes += request->bytes;
    meaning.communicator_size = request->communicator_size;
    meaning.communicator = request->identity;
    if (request->direction == Direction::send)
      count_sent(request->partner, request->bytes, ticks() / static_cast<u8>(started.count()));
    else
      profile.process->sent_bytes += request->bytes;
  }
  find(meaning);
  if (tracing()) [[unlikely]]
    for (int i = 0; i < started.count(); ++i)
      if (const Request* request = find_request(started.key(i)); request && request->direction == Direction::send)
        trace({request->communicator_size, request->bytes, Direction::send, request->partner, request->tag,
               request->identity},
              1, request->routine);
  finish(meaning);
}

// A matched message does not carry its communicator, so the probe's is used.
void Call::probed_message(MPI_Comm comm, bool found, std::uint64_t message) {
  Members& members = members_of(comm);
  const CallDescription meaning{.communicator_size = members.size, .communicator = members.identity};
  find(meaning);
  if (found)
    if (Request* tracked = track(message, meaning)) {
      expects(tracked, members);
      tracked->message = true;
    }
  finish(meaning);
}

void Call::received_message(std::uint64_t message, const MPI_Status& status) {
  Request* probed = find_request(message);
  if (!probed || !probed->message || status.MPI_SOURCE == MPI_PROC_NULL) return local();
  CallDescription meaning{probed->communicator_size,
                          received_bytes(status),
                          Direction::receive,
                          probed->members->world_rank(status.MPI_SOURCE),
                          status.MPI_TAG,
                          probed->identity};
  remove_request(probed);
  count_received(meaning.partner, meaning.bytes, ticks());
  record(meaning);
}

void Call::started_message(std::uint64_t message, MPI_Request request) {
  Request* probed = find_request(message);
  if (!probed || !probed->message) return local();
  const CallDescription meaning{.communicator_size = probed->communicator_size, .communicator = probed->identity};
  find(meaning);
  expects(track(key_of(request), meaning), *probed->members);
  remove_request(probed);
  finish(meaning);
}

// The description of a put or get; its bytes are counted now.
CallDescription Call::one_sided(MPI_Win window, int target, u8 bytes, Direction direction) {
  const Members& members = members_of_window(window);
  CallDescription meaning{.communicator_size = members.size, .communicator = members.identity};
  if (target == MPI_PROC_NULL) return meaning;
  meaning.bytes = bytes;
  meaning.partner = members.world_rank(target);
  PartnerRow& row = partner_row(meaning.partner);
  const bool put = direction == Direction::send;
  ++(put ? row.put_operations : row.get_operations);
  (put ? row.put_bytes : row.get_bytes) += bytes;
  (put ? profile.process->sent_bytes : profile.process->received_bytes) += bytes;
  return meaning;
}

void Call::accessed(MPI_Win window, int target, u8 bytes, Direction direction) {
  record(one_sided(window, target, bytes, direction));
}
void Call::started_access(MPI_Win window, int target, u8 bytes, Direction direction, MPI_Request request) {
  begun(one_sided(window, target, bytes, direction), request);
}

void Call::freed_request(std::uint64_t key) {
  if (Request* request = find_request(key)) remove_request(request);
  local();
}

void Call::cancelled(std::uint64_t key) {
  if (Request* request = find_request(key)) request->cancelled = true;
  local();
}

[[gnu::flatten]] void Call::completed(Request& request, u8 share, const MPI_Status& status) {
  CallDescription meaning{request.communicator_size, request.bytes, request.direction,
                          request.partner,           request.tag,   request.identity};
  const bool receives = request.direction == Direction::receive;
  const bool happened = !(request.cancelled && was_cancelled(status));
  if (receives) {
    meaning.bytes = happened ? received_bytes(status) : 0;
    meaning.partner = request.members->world_rank(status.MPI_SOURCE);
    meaning.tag = status.MPI_TAG;
  }
  if (WaitRow* row =
          find_wait(request.routine, request.site, meaning.communicator_size, size_class_of(meaning.bytes))) {
    ++row->requests;
    row->ticks += share;
    row->bytes += meaning.bytes;
  }
  if (receives && happened && status.MPI_SOURCE != MPI_PROC_NULL) {
    count_received(meaning.partner, meaning.bytes, share);
    if (tracing()) trace(meaning, 1, request.routine);
  } else if (request.direction == Direction::send) {
    partner_row(request.partner).send_ticks += share;
  }
  request.active = false;
  if (!request.persistent) remove_request(&request);
}

}  // namespace scope
