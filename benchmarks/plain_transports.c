/* The loops that everybody writes over sockets, and one cache line between two cores: what Scope's transports must
 * agree with.
 *
 * usage: plain_transports tcp|udp|line latency|stream BYTES ITERATIONS LOOPS CORE CORE
 * Two processes (two threads for `line`), bound to the two cores, polling. Prints one line per loop: seconds per one-way
 * message (latency), or per window of 64 messages and a byte back (stream; TCP only).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW = 64, WARMUP = 3, LARGEST_DATAGRAM = 65507 };

static int iterations, loops;
static size_t bytes;

static void die(const char* what) {
  perror(what);
  exit(1);
}

static void bind_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) die("sched_setaffinity");
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Two connected sockets over the loopback; the second is for the child. */
static void make_pair(int type, int pair[2]) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, b = a;
  socklen_t length = sizeof a;
  const int on = 1;
  int first = socket(AF_INET, type, 0), second = socket(AF_INET, type, 0);
  if (bind(first, (struct sockaddr*)&a, length) != 0) die("bind");
  getsockname(first, (struct sockaddr*)&a, &length);
  if (type == SOCK_DGRAM) {
    if (bind(second, (struct sockaddr*)&b, length) != 0) die("bind");
    getsockname(second, (struct sockaddr*)&b, &length);
    if (connect(first, (struct sockaddr*)&b, length) != 0) die("connect");
  } else if (listen(first, 1) != 0) {
    die("listen");
  }
  if (connect(second, (struct sockaddr*)&a, length) != 0) die("connect");
  if (type == SOCK_STREAM) {
    first = accept(first, NULL, NULL);
    setsockopt(first, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(second, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  pair[0] = first;
  pair[1] = second;
}

static void put(int s, const char* from, size_t n) {
  while (n > 0) {
    const ssize_t done = send(s, from, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (done < 0 && errno != EAGAIN) die("send");
    if (done > 0) from += done, n -= done;
  }
}

static void get(int s, char* to, size_t n) {
  while (n > 0) {
    const ssize_t done = recv(s, to, n, MSG_DONTWAIT);
    if (done == 0) exit(1);
    if (done < 0 && errno != EAGAIN) die("recv");
    if (done > 0) to += done, n -= done;
  }
}

static void* sleep_for_ever(void* nothing) {
  for (;;) pause();
  return nothing;
}

static void over_sockets(int type, int latency, int one, int other) {
  int pair[2];
  make_pair(type, pair);
  char *out, *in, byte = 0;
  if (posix_memalign((void**)&out, 4096, bytes) != 0 || posix_memalign((void**)&in, 4096, bytes) != 0) exit(1);
  memset(out, 1, bytes);
  memset(in, 1, bytes);
  const pid_t child = fork();
  if (child < 0) die("fork");
  const int first = child != 0;
  /* A second thread makes every system call a little dearer, and a process of an MPI program has one. */
  pthread_t idle;
  if (pthread_create(&idle, NULL, sleep_for_ever, NULL) != 0) die("pthread_create");
  bind_to(first ? one : other);
  const int s = pair[first ? 0 : 1];
  close(pair[first ? 1 : 0]);
  double* elapsed = malloc(loops * sizeof *elapsed);
  for (int loop = -WARMUP; loop < loops; ++loop) {
    const double start = now();
    for (int i = 0; i < iterations; ++i) {
      if (latency && first) {
        put(s, out, bytes);
        get(s, in, bytes);
      } else if (latency) {
        get(s, in, bytes);
        put(s, out, bytes);
      } else if (first) {
        for (int m = 0; m < WINDOW; ++m) put(s, out, bytes);
        get(s, &byte, 1);
      } else {
        for (int m = 0; m < WINDOW; ++m) get(s, in, bytes);
        put(s, &byte, 1);
      }
    }
    if (loop >= 0) elapsed[loop] = now() - start;
  }
  if (!first) exit(0);
  for (int loop = 0; loop < loops; ++loop) printf("%.9e\n", elapsed[loop] / iterations / (latency ? 2 : 1));
  waitpid(child, NULL, 0);
}

static _Alignas(128) atomic_long line;
static int cores[2];

/* Thread k waits for the line to be k modulo 2 and makes it one more: each hop moves the line once. */
static void* hop(void* which) {
  const long k = (long)which;
  bind_to(cores[k]);
  double* elapsed = malloc(loops * sizeof *elapsed);
  long next = k;
  for (int loop = -WARMUP; loop < loops; ++loop) {
    const double start = now();
    for (int i = 0; i < iterations; ++i, next += 2) {
      while (atomic_load_explicit(&line, memory_order_acquire) != next) {
      }
      atomic_store_explicit(&line, next + 1, memory_order_release);
    }
    if (loop >= 0) elapsed[loop] = now() - start;
  }
  for (int loop = 0; k == 0 && loop < loops; ++loop) printf("%.9e\n", elapsed[loop] / iterations / 2);
  free(elapsed);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 8) {
    fprintf(stderr, "usage: plain_transports tcp|udp|line latency|stream BYTES ITERATIONS LOOPS CORE CORE\n");
    return 2;
  }
  const int latency = strcmp(argv[2], "latency") == 0;
  bytes = strtoul(argv[3], NULL, 10);
  iterations = atoi(argv[4]);
  loops = atoi(argv[5]);
  cores[0] = atoi(argv[6]);
  cores[1] = atoi(argv[7]);
  if (strcmp(argv[1], "line") == 0) {
    pthread_t other;
    if (pthread_create(&other, NULL, hop, (void*)1) != 0) die("pthread_create");
    hop((void*)0);
    pthread_join(other, NULL);
  } else {
    const int tcp = strcmp(argv[1], "tcp") == 0;
    if (!tcp && (bytes > LARGEST_DATAGRAM || !latency)) {
      fprintf(stderr, "udp: a message must be one datagram, and a ping-pong\n");
      return 2;
    }
    over_sockets(tcp ? SOCK_STREAM : SOCK_DGRAM, latency, cores[0], cores[1]);
  }
  return 0;
}
