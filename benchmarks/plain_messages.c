/* The loops that everybody writes: what Scope's figures of MPI must agree with.
 *
 * usage: mpiexec -n 2 plain_messages EXCHANGE BYTES ITERATIONS LOOPS
 * EXCHANGE: ping_pong (from one buffer, into another), echo (one buffer), stream (windows of 64 messages),
 *           sendrecv, put, get: ITERATIONS in each loop, timed by rank 0; or
 *           allreduce, broadcast, alltoall: one in each loop, from an agreed time to the end of the last rank.
 * put and get have a pair of fences, a place of their own in each iteration, and a receiver that reads one word of
 * every cache line: without a reader, a put of 64 KiB takes less than half as long.
 * Prints one line per loop: seconds per one-way message, window, exchange or operation.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WINDOW = 64, WARM_UP = 3, LINE = 64, LONG = 1 << 20 };

static char *sent, *arrived, *memory;
static int bytes, rank, ranks, places, turn;
static volatile long seen;
static double clock_cost_s;
static size_t room;
static MPI_Win shared;

/* The same for all processes of a host. */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void there_and_back(char* from, char* to) {
  if (rank == 0) {
    MPI_Send(from, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(to, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(to, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(from, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
}
static void ping_pong(void) { there_and_back(sent, arrived); }
static void echo(void) { there_and_back(sent, sent); }

static void stream(void) {
  MPI_Request requests[WINDOW];
  for (int i = 0; i < WINDOW; ++i)
    if (rank == 0)
      MPI_Isend(sent, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]);
    else
      MPI_Irecv(arrived, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
  MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
  if (rank == 0)
    MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

static void sendrecv(void) {
  MPI_Sendrecv(sent, bytes, MPI_BYTE, 1 - rank, 0, arrived, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static MPI_Aint next_place(void) { return (MPI_Aint)(turn++ % places) * ((bytes + LINE - 1) / LINE * LINE); }
static void read_lines(const volatile char* from) {
  long sum = 0;
  for (int at = 0; at < bytes; at += LINE) sum += *(const volatile long*)(from + at);
  seen += sum;
}
static void put(void) {
  const MPI_Aint place = next_place();
  if (rank == 0) *(volatile long*)sent = turn;
  MPI_Win_fence(0, shared);
  if (rank == 0) MPI_Put(sent, bytes, MPI_BYTE, 1, place, bytes, MPI_BYTE, shared);
  MPI_Win_fence(0, shared);
  if (rank == 0) {
    MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    read_lines(memory + place);
    MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  }
}
static void get(void) {
  const MPI_Aint place = next_place();
  for (int at = 0; rank == 1 && at < bytes; at += LINE) *(volatile long*)(memory + at) = turn;
  MPI_Win_fence(0, shared);
  if (rank == 0) MPI_Get(arrived + place, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, shared);
  MPI_Win_fence(0, shared);
  if (rank == 0) read_lines(arrived + place);
}

static void allreduce(void) { MPI_Allreduce(sent, arrived, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void broadcast(void) { MPI_Bcast(sent, bytes, MPI_BYTE, 0, MPI_COMM_WORLD); }
static void alltoall(void) { MPI_Alltoall(sent, bytes, MPI_BYTE, arrived, bytes, MPI_BYTE, MPI_COMM_WORLD); }

static const struct {
  const char* name;
  void (*run)(void);
  int per_loop; /* messages one after another, by which the time is divided; 0: a collective */
  int window;   /* of one-sided access */
} exchanges[] = {{"ping_pong", ping_pong, 2, 0},
                 {"echo", echo, 2, 0},
                 {"stream", stream, 1, 0},
                 {"sendrecv", sendrecv, 1, 0},
                 {"put", put, 1, 1},
                 {"get", get, 1, 1},
                 {"allreduce", allreduce, 0, 0},
                 {"broadcast", broadcast, 0, 0},
                 {"alltoall", alltoall, 0, 0}};

/* Of two reads of the clock with nothing between them: the least seen. */
static double clock_s(void) {
  double least = 1;
  for (int i = 0; i < 1000; ++i) {
    const double start = now(), elapsed = now() - start;
    if (elapsed < least) least = elapsed;
  }
  return least;
}

/* From the first entry of any rank to the last exit, without the cost of the clock. */
static double collective_s(void (*run)(void)) {
  /* By messages: a collective of the library would leave the next one's flags in the caches. */
  double start = 0;
  for (int other = 1; other < ranks; ++other) {
    if (rank == other) MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(NULL, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 0) start = now() + 30e-6;
  for (int other = 1; other < ranks; ++other) {
    if (rank == 0) MPI_Send(&start, 1, MPI_DOUBLE, other, 2, MPI_COMM_WORLD);
    if (rank == other) MPI_Recv(&start, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  while (now() < start) {
  }
  const double entered = now();
  run();
  double ends[2] = {now(), -entered};
  MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return ends[0] + ends[1] - clock_cost_s;
}

static double loop_s(void (*run)(void), int iterations) {
  if (memory) { /* as before each repetition of Scope, so that the caches hold the same lines */
    const size_t one = bytes + LINE;
    memset(memory, 0, run == put ? room : one);
    memset(run == put ? sent : arrived, 0, run == put ? one : room);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  /* As Scope does: a single long operation notices neither the barrier nor that it is the first. */
  turn = iterations;
  if (!memory || iterations > 1 || bytes < LONG) run();
  turn = 0;
  const double start = now();
  for (int i = 0; i < iterations; ++i) run();
  return (now() - start) / iterations;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  unsigned chosen = 0;
  const unsigned known = sizeof exchanges / sizeof *exchanges;
  while (argc == 5 && chosen < known && strcmp(argv[1], exchanges[chosen].name) != 0) ++chosen;
  if (argc != 5 || chosen == known) {
    if (rank == 0) fprintf(stderr, "usage: plain_messages EXCHANGE BYTES ITERATIONS LOOPS\n");
    MPI_Finalize();
    return 2;
  }
  bytes = atoi(argv[2]);
  const int iterations = atoi(argv[3]), loops = atoi(argv[4]);
  /* As many as Scope has: which of them the caches still hold decides up to half of the time. */
  const int fitting = (2 << 20) / ((bytes + LINE - 1) / LINE * LINE);
  places = fitting < 1 ? 1 : fitting > 65 ? 65 : fitting;
  const size_t copies = exchanges[chosen].window ? places : ranks;
  room = copies * (size_t)(bytes + LINE);
  if (posix_memalign((void**)&sent, 4096, room) || posix_memalign((void**)&arrived, 4096, room)) return 1;
  memset(sent, rank + 1, room);
  memset(arrived, 0, room);
  if (exchanges[chosen].window)
    MPI_Win_allocate((MPI_Aint)room, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &shared);

  clock_cost_s = clock_s();
  double* elapsed = malloc(loops * sizeof *elapsed);
  const int per_loop = exchanges[chosen].per_loop;
  for (int loop = -WARM_UP; loop < loops; ++loop) {
    const double seconds =
        per_loop ? loop_s(exchanges[chosen].run, iterations) / per_loop : collective_s(exchanges[chosen].run);
    if (loop >= 0) elapsed[loop] = seconds;
  }
  for (int loop = 0; rank == 0 && loop < loops; ++loop) printf("%.9e\n", elapsed[loop]);
  if (exchanges[chosen].window) MPI_Win_free(&shared);
  MPI_Finalize();
  return 0;
}
