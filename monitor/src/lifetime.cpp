#include "lifetime.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "computation.hpp"
#include "files.hpp"
#include "handles.hpp"
#include "options.hpp"
#include "python.hpp"
#include "recorder.hpp"
#include "sampling.hpp"
#include "sites.hpp"

namespace scope {

namespace {

pid_t observed = 0;  // the process of this profile
int sessions = 0;
bool world_is_up = false;
constexpr Ticks least_calibration = 5'000'000;  // ns; a shorter MPI_Init is extended to this

Moment before_init{};

std::string first_line_of_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  next.Get_library_version(text, &length);
  std::string line(text);  // the length includes the terminator in some versions
  line = line.substr(0, std::min<std::size_t>(line.find('\n'), 500));
  std::replace(line.begin(), line.end(), '\t', ' ');
  return line;
}

const char* name_of_level(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE: return "single";
    case MPI_THREAD_FUNNELED: return "funneled";
    case MPI_THREAD_SERIALIZED: return "serialized";
    default: return "multiple";
  }
}

Tools tools_of(int rank) {
  const Tools tools = other_tools();
  if (rank == 0 && !tools.hidden.empty())
    complain(tools.file + " gets the calls of" + tools.hidden +
             " before the monitor; calls that it does not pass on to MPI_ functions are not counted");
  return tools;
}

// The frequency of the register, measured from the start of MPI_Init until now.
double tick_rate() {
  Moment after = moment_on(CLOCK_MONOTONIC_RAW, 20, ticks_now);
  while (after.nanoseconds - before_init.nanoseconds < least_calibration)
    after = moment_on(CLOCK_MONOTONIC_RAW, 20, ticks_now);
  return static_cast<double>(after.ticks - before_init.ticks) * 1e9 /
         static_cast<double>(after.nanoseconds - before_init.nanoseconds);
}

// A forked child without MPI inherits the mapping and must not write to it.
void leave_to_parent() {
  recording = counting = false;
  observed = 0;
}

void begin(u8 begin_tick, MPI_Group group, int rank, int ranks) {
  const Options options = read_options();
  Identity identity{};
  identity.rank = rank;
  identity.ranks = ranks;
  int level = MPI_THREAD_SINGLE;
  if (world_is_up)
    next.Query_thread(&level);
  else
    level = MPI_THREAD_MULTIPLE;  // not queried for a session
  next.Get_version(&identity.mpi_version, &identity.mpi_subversion);
  identity.mpi = first_line_of_library();
  identity.thread_level = name_of_level(level);
  identity.tick_rate_hz = tick_rate();
  identity.tools = tools_of(rank);
  identity.python = options.depth > 0 && find_python(options.depth);
  if (!open_profile(options, identity)) return;
  observed = getpid();
  pthread_atfork(nullptr, nullptr, leave_to_parent);
  set_world(group);
  thread.initialized_mpi = true;
  several_threads = level == MPI_THREAD_MULTIPLE;
  begin_sites(options.depth);
  const Moment first = moment_on(CLOCK_REALTIME, 20, ticks_now);
  ProcessRow& process = *profile.process;
  process.init_begin_tick = begin_tick;
  process.first_tick = process.last_tick = first.ticks;
  process.first_unix_ns = first.nanoseconds;
  begin_sampling(first.ticks, static_cast<u8>(options.interval_s * identity.tick_rate_hz));
  if (options.trace_s > 0) {
    trace_begin = first.ticks + static_cast<u8>(options.trace_start_s * identity.tick_rate_hz);
    trace_end = trace_begin + static_cast<u8>(options.trace_s * identity.tick_rate_hz);
    attention_tick = 0;
  }
  watches_files = options.files > 0;
  recording = counting = true;
  if (options.sample_hz > 0) begin_computation_samples(options.sample_hz);
}

void finish(State state, u8 now) {
  end_computation_samples();
  profile.process->state = static_cast<u4>(state);
  sample(now);
  recording = counting = false;
}

// The process ends without MPI_Finalize.
__attribute__((destructor)) void leave() {
  if (recording && observed == getpid()) finish(State::left, ticks_now());
}

void learn_constants() {
#if defined(OPEN_MPI)
  // Uses Fortran handles, which are the same in all versions; the C variables would have to be linked.
  constants.world = next.Comm_f2c(0);
  constants.no_communicator = next.Comm_f2c(2);
#else
  constants.world = MPI_COMM_WORLD;
  constants.no_communicator = MPI_COMM_NULL;
#endif
}

}  // namespace

void note_init_begin() {
  if (!before_init.ticks) before_init = moment_on(CLOCK_MONOTONIC_RAW, 20, ticks_now);
}

void began(u8 begin_tick) {
  world_is_up = true;
  if (observed == getpid() || !is_asked_for()) return;
  learn_constants();
  MPI_Group group;
  int rank = 0, ranks = 1;
  next.Comm_group(constants.world, &group);
  next.Comm_rank(constants.world, &rank);
  next.Comm_size(constants.world, &ranks);
  begin(begin_tick, group, rank, ranks);
}

#if defined(SCOPE_HAS_Session_init)
void session_began(u8 begin_tick, MPI_Session session) {
  ++sessions;
  if (observed == getpid() || !is_asked_for()) return;
  learn_constants();
  MPI_Group group;
  int rank = 0, ranks = 1;
  if (next.Group_from_session_pset(session, "mpi://WORLD", &group) != MPI_SUCCESS) return;
  next.Group_rank(group, &rank);
  next.Group_size(group, &ranks);
  begin(begin_tick, group, rank, ranks);
}
#endif

u8 ending() {
  const u8 now = ticks_now();
  if (!recording) return now;
  profile.process->finalize_tick = now;
  profile.process->in_since_tick = now;
  profile.process->in_routine = routine::Finalize;
  finish(State::running, now);
  return now;
}

void ended(u8 begin_tick) {
  if (observed != getpid()) return;
  ProcessRow& process = *profile.process;
  if (process.state == static_cast<u4>(State::finalized)) return;  // another session, or the world after a session
  process.in_routine = 0;
  process.last_tick = ticks_now();
  process.finalize_ticks = process.last_tick - begin_tick;
  process.state = static_cast<u4>(State::finalized);
  if (files_are_settled()) release_unused_pages();
}

void session_ending() {
  if (--sessions > 0 || world_is_up) return;
  ended(ending());
}

void aborting(int code) {
  if (!recording) return;
  profile.process->abort_code = code;
  profile.process->in_routine = routine::Abort;
  finish(State::aborted, ticks_now());
}

void control(int level) {
  if (!recording) return;
  const Locked locked;
  if (level == 0 || level == 1)
    counting = level == 1;
  else
    enter_region(level > 1 ? level : 0, "", ticks_now());
}

void enter_named_region(int number, const char* name) {
  if (!recording) return;
  const Locked locked;
  enter_region(number, name, ticks_now());
}

}  // namespace scope

// scope-timer looks this function up by name in the programs that use it.
extern "C" __attribute__((visibility("default"))) void scope_monitor_enter_region(int number, const char* name) {
  scope::enter_named_region(number, name);
}
