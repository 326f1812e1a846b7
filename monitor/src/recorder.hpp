// One monitored MPI call. The wrappers create a Call, let MPI do its work, and then describe the call.
#pragma once

#include <mpi.h>

#include "communicators.hpp"
#include "profile.hpp"
#include "requests.hpp"
#include "routines.hpp"
#include "sites.hpp"
#include "timer/timer.hpp"

namespace scope {

// True between MPI_Init and MPI_Finalize of a monitored process.
inline bool recording = false;
// False while MPI_Pcontrol(0) is in effect.
inline bool counting = false;

struct Thread {
  int depth = 0;          // nesting depth of calls
  u4 routine = 0;         // outermost routine
  bool in_files = false;  // the monitor's own work on files
  bool initialized_mpi = false;
  const void* fortran_caller = nullptr;  // caller of the Fortran entry around the counting entry
};
extern thread_local constinit Thread thread;

// Lock for changes of tables, taken if several threads may call MPI at once.
void lock_tables();
void unlock_tables();
inline bool several_threads = false;
class Locked {
 public:
  Locked() {
    if (several_threads) lock_tables();
  }
  Locked(const Locked&) = delete;
  ~Locked() {
    if (several_threads) unlock_tables();
  }
};

// Description of a call, beyond its time.
struct CallDescription {
  u4 communicator_size = 0;
  u8 bytes = 0;
  Direction direction = Direction::none;
  int partner = -1;  // rank in MPI_COMM_WORLD
  int tag = 0;
  u8 communicator = 0;
};

class Waiting;

class Call {
 public:
  [[gnu::always_inline]] Call(u4 routine, const void* caller) : routine_(routine), caller_(caller) {
    if (!recording) [[unlikely]]
      return;
    level_ = ++thread.depth;
    if (thread.fortran_caller) [[unlikely]]
      caller_ = thread.fortran_caller;
    if (level_ == 1) {
      thread.routine = routine;
      if (looks_further) [[unlikely]]
        caller_ = caller_beyond(caller_, __builtin_dwarf_cfa());
      begin_ = ticks_now();
      profile.process->in_since_tick = begin_;
      profile.process->in_routine = routine;
    } else if (tracing()) [[unlikely]] {
      begin_ = ticks_now();
    }
  }
  Call(const Call&) = delete;
  ~Call() {
    if (level_) --thread.depth;  // an error handler threw
  }

  // Whether the call is outermost and recorded, as known before MPI's work.
  bool counts() const { return level_ == 1 && counting; }

  // Called after MPI's work; true if the call is to be described; this thread then holds the tables until it is.
  [[gnu::always_inline]] bool ends(int code = MPI_SUCCESS) {
    if (!level_) return false;
    --thread.depth;
    const bool outermost = level_ == 1;
    level_ = 0;
    if (!outermost) [[unlikely]] {
      if (begin_) nested();
      return false;
    }
    end_ = ticks_now();
    profile.process->in_routine = 0;
    if (!counting) [[unlikely]]
      return false;
    if (several_threads) lock_tables();
    if (code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS) [[likely]]
      return true;
    local();
    return false;
  }

  // The description; exactly one of these is called.
  void local();
  void collective(MPI_Comm comm, u8 bytes) { collective(members_of(comm), bytes); }
  void collective(const Members& members, u8 bytes);
  void sent(MPI_Comm comm, int destination, int tag, u8 bytes);
  void received(MPI_Comm comm, const MPI_Status& status);
  void exchanged(MPI_Comm comm, int destination, int tag, u8 bytes, const MPI_Status& status);
  void started_send(MPI_Comm comm, int destination, int tag, u8 bytes, MPI_Request request);
  void started_receive(MPI_Comm comm, MPI_Request request);
  void started_exchange(MPI_Comm comm, int destination, int tag, u8 bytes, MPI_Request request);
  void started(MPI_Comm comm, u8 bytes, MPI_Request request);
  void file(MPI_File file, u8 bytes, bool memory_has_gaps = false);
  void started_file(MPI_File file, u8 bytes, bool memory_has_gaps, MPI_Request request);
  void viewed_file(MPI_File file, bool has_gaps);
  void opened_file(MPI_File file, MPI_Comm comm, const char* name);
  void closed_file(MPI_File file);
  void prepared_send(MPI_Comm comm, int destination, int tag, u8 bytes, MPI_Request request);
  void prepared_receive(MPI_Comm comm, MPI_Request request);
  void prepared(MPI_Comm comm, u8 bytes, MPI_Request request);
  void probed_message(MPI_Comm comm, bool found, std::uint64_t message);
  void received_message(std::uint64_t message, const MPI_Status& status);
  void started_message(std::uint64_t message, MPI_Request request);
  void activated(const Waiting& started);
  void accessed(MPI_Win window, int target, u8 bytes, Direction direction);
  void started_access(MPI_Win window, int target, u8 bytes, Direction direction, MPI_Request request);
  void freed_request(std::uint64_t request);
  void cancelled(std::uint64_t request);

  u8 ticks() const { return end_ - begin_; }

  // A wait or test: first its own row, then the completed requests, then its end.
  void waits();
  void waited();
  // A pending operation has completed; `share` of this call's time is attributed to it.
  void completed(Request& request, u8 share, const MPI_Status& status);

 private:
  static bool tracing();
  void nested();
  void record(const CallDescription& meaning);
  void find(const CallDescription& meaning);
  CallRow* find_in_table(u4 communicator_size, u4 size_class, u8 key);
  void finish(const CallDescription& meaning);
  void attend(const CallDescription& meaning);
  Request* track(std::uint64_t request, const CallDescription& meaning);
  void trace(const CallDescription& meaning, u4 depth, u4 operation);
  void begun(const CallDescription& meaning, MPI_Request request);
  template <class Fill>
  void prepared(const CallDescription& meaning, MPI_Request request, Fill fill);
  CallDescription sending(const Members& members, int destination, int tag, u8 bytes);
  CallDescription one_sided(MPI_Win window, int target, u8 bytes, Direction direction);

  u4 routine_;
  int level_ = 0;
  const void* caller_;
  u8 begin_ = 0;
  u8 end_ = 0;
  CallRow* row_ = nullptr;  // once found
};

// A Call whose functions are not inlined, for the many entries whose speed is not critical.
class PlainCall : public Call {
 public:
  PlainCall(u4 routine, const void* caller);
  bool ends(int code = MPI_SUCCESS);
};

// The size class of a number of bytes: 0: no bytes; n: 2^(n-1) <= bytes < 2^n.
inline u4 size_class_of(u8 bytes) { return bytes ? 64u - static_cast<u4>(__builtin_clzll(bytes)) : 0; }

// The window in which calls are traced, in ticks; the maximum value without a trace.
inline u8 trace_begin = UINT64_MAX;
inline u8 trace_end = 0;
inline bool Call::tracing() { return trace_begin != UINT64_MAX; }

// When the next row of the time series is due, and when a call must check for due work (0 while tracing).
inline u8 next_sample_tick = UINT64_MAX;
inline u8 attention_tick = UINT64_MAX;

// Drops the recent rows, which belong to another region.
void forget_recent();

// The current region of calls; never null.
inline RegionRow* current_region = nullptr;

}  // namespace scope
