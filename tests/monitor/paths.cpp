// Routines whose call paths, messages and computation are known:
//   main -> ocean::step -> mpi_wrap_sum -> MPI_Allreduce          STEPS times
//   main -> ice::step -> mpi_wrap_sum -> MPI_Allreduce            STEPS times
//   main -> exchange<int> and exchange<double> -> MPI_Sendrecv    STEPS times each, 400 and 800 bytes
//   main -> descend -> descend -> descend -> MPI_Barrier          STEPS times
// ocean::step computes three times as long as ice::step: STEPS x MILLISECONDS of processor time.
// With `own` the program handles SIGPROF itself, and raises it once. With `counted` it takes the place of the sampling
// timer: instead of computing for MILLISECONDS it has as many samples taken, and none is taken elsewhere.
// usage: paths STEPS MILLISECONDS [own | counted]
#include <dlfcn.h>
#include <mpi.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define ROUTINE __attribute__((noinline, noclone))

static double processor_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

static volatile double sink = 0;

static bool counted = false;
static void* sampler = nullptr;  // what the signals of the timer carry

// Stand before those of the C library, for the preloaded monitor, too.
extern "C" int timer_create(clockid_t clock, sigevent* event, timer_t* made) {
  if (!counted)
    return reinterpret_cast<decltype(&timer_create)>(dlsym(RTLD_NEXT, "timer_create"))(clock, event, made);
  sampler = event->sigev_value.sival_ptr;
  return 0;
}
extern "C" int timer_settime(timer_t timer, int flags, const itimerspec* value, itimerspec* before) {
  if (!counted)
    return reinterpret_cast<decltype(&timer_settime)>(dlsym(RTLD_NEXT, "timer_settime"))(timer, flags, value,
                                                                                         before);
  return 0;
}
extern "C" int timer_delete(timer_t timer) {
  if (!counted) return reinterpret_cast<decltype(&timer_delete)>(dlsym(RTLD_NEXT, "timer_delete"))(timer);
  return 0;
}

static void take_sample() {
  siginfo_t info{};
  info.si_signo = SIGPROF;
  info.si_code = SI_TIMER;
  info.si_value.sival_ptr = sampler;
  syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGPROF, &info);
}

// Inlined into the routine that computes.
[[gnu::always_inline]] static inline void compute(double seconds) {
  if (counted) {
    for (int i = 0; i < 1000 * seconds - 0.5; ++i) take_sample();
    return;
  }
  for (const double end = processor_s() + seconds; processor_s() < end;)
    for (int i = 0; i < 20000; ++i) sink = sink + 1e-9;
}

extern "C" ROUTINE double mpi_wrap_sum(double value) {
  double sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum / 2;
}

namespace ocean {
ROUTINE double step(double seconds) {
  compute(3 * seconds);
  return mpi_wrap_sum(1) + 1;
}
}  // namespace ocean

namespace ice {
ROUTINE double step(double seconds) {
  compute(seconds);
  return mpi_wrap_sum(2) + 1;
}
}  // namespace ice

template <typename Value>
ROUTINE int exchange(MPI_Datatype type) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Value out[100] = {}, in[100];
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  MPI_Sendrecv(out, 100, type, next, 0, in, 100, type, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return static_cast<int>(in[0]);
}

ROUTINE int descend(int levels) {
  if (levels > 1) return descend(levels - 1) + static_cast<int>(sink);
  MPI_Barrier(MPI_COMM_WORLD);
  return 1;
}

static volatile std::sig_atomic_t signals = 0;

int main(int argc, char** argv) {
  const bool own = argc > 3 && std::strcmp(argv[3], "own") == 0;
  counted = argc > 3 && std::strcmp(argv[3], "counted") == 0;
  if (own) std::signal(SIGPROF, [](int) { signals = signals + 1; });
  MPI_Init(&argc, &argv);
  const int steps = std::atoi(argv[1]);
  const double seconds = 1e-3 * std::atof(argv[2]);
  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    sum += ocean::step(seconds) + ice::step(seconds);
    sum += exchange<int>(MPI_INT) + exchange<double>(MPI_DOUBLE) + descend(3);
  }
  if (own) std::raise(SIGPROF);
  MPI_Finalize();
  if (own) std::printf("%d signal\n", signals);
  return sum < 0;
}
