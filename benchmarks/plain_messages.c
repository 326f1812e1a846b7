/* The loops that everybody writes: what Scope's figures of MPI must agree with.
 *
 * usage: mpiexec -n 2 plain_messages EXCHANGE BYTES ITERATIONS LOOPS
 * EXCHANGE: ping_pong (from one buffer, into another), echo (one buffer), stream (windows of 64 messages),
 *           sendrecv, put, get (with a pair of fences): ITERATIONS in each loop, timed by rank 0; or
 *           allreduce, broadcast, alltoall: one in each loop, from an agreed time to the end of the last rank.
 * Prints one line per loop: seconds per one-way message, window, exchange or operation.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WINDOW = 64, WARM_UP = 3 };

static char *sent, *arrived;
static int bytes, rank, ranks;
static MPI_Win shared;

/* The same for all processes of a host. */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void there_and_back(char *from, char *to) {
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
  for (int i = 0; i < WINDOW; ++i) {
    if (rank == 0)
      MPI_Isend(sent, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]);
    else
      MPI_Irecv(arrived, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
  }
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

static void put(void) {
  MPI_Win_fence(0, shared);
  if (rank == 0) MPI_Put(sent, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, shared);
  MPI_Win_fence(0, shared);
}
static void get(void) {
  MPI_Win_fence(0, shared);
  if (rank == 0) MPI_Get(arrived, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, shared);
  MPI_Win_fence(0, shared);
}

static void allreduce(void) { MPI_Allreduce(sent, arrived, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void broadcast(void) { MPI_Bcast(sent, bytes, MPI_BYTE, 0, MPI_COMM_WORLD); }
static void alltoall(void) {
  MPI_Alltoall(sent, bytes, MPI_BYTE, arrived, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static const struct {
  const char *name;
  void (*run)(void);
  int per_loop; /* messages one after another, by which the time is divided; 0: a collective */
  int window;   /* of one-sided access */
} exchanges[] = {{"ping_pong", ping_pong, 2, 0}, {"echo", echo, 2, 0},           {"stream", stream, 1, 0},
                 {"sendrecv", sendrecv, 1, 0},   {"put", put, 1, 1},             {"get", get, 1, 1},
                 {"allreduce", allreduce, 0, 0}, {"broadcast", broadcast, 0, 0}, {"alltoall", alltoall, 0, 0}};

/* From the first entry of any rank to the last exit. */
static double collective_s(void (*run)(void)) {
  MPI_Barrier(MPI_COMM_WORLD);
  double start = now() + 30e-6;
  MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  while (now() < start) {
  }
  const double entered = now();
  run();
  double ends[2] = {now(), -entered};
  MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return ends[0] + ends[1];
}

static double loop_s(void (*run)(void), int iterations) {
  MPI_Barrier(MPI_COMM_WORLD);
  run();
  const double start = now();
  for (int i = 0; i < iterations; ++i) run();
  return (now() - start) / iterations;
}

int main(int argc, char **argv) {
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
  const size_t room = (size_t)bytes * ranks + 64;
  if (posix_memalign((void **)&sent, 4096, room) || posix_memalign((void **)&arrived, 4096, room)) return 1;
  memset(sent, rank + 1, room);
  memset(arrived, 0, room);
  char *memory;
  if (exchanges[chosen].window)
    MPI_Win_allocate(bytes + 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &shared);

  double *elapsed = malloc(loops * sizeof *elapsed);
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
