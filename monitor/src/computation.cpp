#include "computation.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "handles.hpp"
#include "profile.hpp"
#include "recorder.hpp"
#include "sites.hpp"

namespace scope {

namespace {

// Whether a signal handler can unwind the stack: the C library must find a module's tables without a lock (glibc
// 2.35), and the unwinder must use that (GCC 12). Otherwise, a sample has only the running instruction.
#if defined(DLFO_STRUCT_HAS_EH_DBASE) && defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__)
constexpr bool unwinds_in_handlers = true;
#else
constexpr bool unwinds_in_handlers = false;
#endif

timer_t timer;
bool runs = false;
int frames_of_sample = 1;

u8 interrupted_at(const void* context) {
#if defined(__x86_64__)
  return static_cast<u8>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<const ucontext_t*>(context)->uc_mcontext.pc;
#elif defined(__powerpc64__)
  return static_cast<const ucontext_t*>(context)->uc_mcontext.gp_regs[32];
#else
  return 0;
#endif
}

// Only the handler accesses these rows, in one thread.
SampleRow* row_of(const Walk& walk, i4 region) {
  u8 hash = mixed(static_cast<u8>(static_cast<u4>(region)));
  for (int i = 0; i < walk.count; ++i) hash = mixed(hash + walk.frames[i]);
  for (u4 probe = 0; probe < profile.sample_rows; ++probe) {
    SampleRow& row = profile.samples[(hash + probe) & (profile.sample_rows - 1)];
    if (row.used && row.region == region && std::memcmp(row.frames, walk.frames, sizeof row.frames) == 0)
      return &row;
    if (row.used) continue;
    std::memcpy(row.frames, walk.frames, sizeof row.frames);
    row.depth = static_cast<u4>(walk.count);
    row.region = region;
    row.used = 1;
    return &row;
  }
  return nullptr;
}

void count(u8 samples, const void* context) {
  ProcessRow& process = *profile.process;
  process.samples += samples;
  if (thread.depth > 0) {
    process.samples_in_mpi += samples;
    return;
  }
  const u8 address = interrupted_at(context);
  Walk walk{.first = reinterpret_cast<const void*>(address), .limit = frames_of_sample};
  if (unwinds_in_handlers && frames_of_sample > 1) unwind(walk);
  walk.count += walk.count == 0;
  walk.frames[0] = address + 1;  // like a return address, which is after its instruction
  if (SampleRow* row = row_of(walk, current_region->number))
    row->samples += samples;
  else
    process.lost_samples += samples;
}

// Must not block: it neither allocates memory nor takes a lock.
void take_sample(int, siginfo_t* info, void* context) {
  if (!recording || !counting || info->si_code != SI_TIMER || info->si_value.sival_ptr != &timer) return;
  const int error = errno;
  count(1 + static_cast<u8>(info->si_overrun > 0 ? info->si_overrun : 0), context);
  errno = error;
}

bool is_free(int number) {
  struct sigaction present{};
  return sigaction(number, nullptr, &present) == 0 && (present.sa_flags & SA_SIGINFO) == 0 &&
         (present.sa_handler == SIG_DFL || present.sa_handler == SIG_IGN);
}

}  // namespace

void begin_computation_samples(double rate_hz) {
  if (!is_free(SIGPROF))
    return complain("sample: the program uses SIGPROF itself, so the monitor does not sample its computation");
  frames_of_sample = depth_of_sites() > 0 ? depth_of_sites() : 1;
  Walk first{.first = nullptr, .limit = 1};
  unwind(first);  // the unwinder initializes itself at its first use
  struct sigaction action{};
  action.sa_sigaction = take_sample;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGPROF;
  event.sigev_value.sival_ptr = &timer;
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  if (sigaction(SIGPROF, &action, nullptr) != 0 || timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0)
    return complain(std::string("sample: ") + std::strerror(errno) + "; the computation is not sampled");
  const long period_ns = static_cast<long>(1e9 / rate_hz);
  itimerspec interval{};
  interval.it_interval = interval.it_value = {period_ns / 1'000'000'000, period_ns % 1'000'000'000};
  runs = timer_settime(timer, 0, &interval, nullptr) == 0;
}

// The handler stays installed, because a signal may be pending.
void end_computation_samples() {
  if (runs) timer_delete(timer);
  runs = false;
}

}  // namespace scope
