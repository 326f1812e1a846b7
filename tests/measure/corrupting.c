/* A message-passing library that gives wrong data, preloaded under the native program.

   CORRUPT="RULE;RULE...", a rule being BYTES:CALL:RANK:PLACE: of all receives of exactly BYTES bytes (of at least 64
   where BYTES is -64) on rank RANK of MPI_COMM_WORLD the one numbered CALL (from 1) gets the byte at PLACE flipped: a
   number of bytes from its begin, or, with a % behind it, a share of its length. PLACE `lost`: this receive and all later
   ones end without data. PLACE `none`: nothing is changed, each receive is written to standard error. One-sided
   operations count as receives of the process that calls them. What a rule did is written to standard error, with the
   addresses in the program from which the receive was called; at the end, how many receives fitted a rule whose call
   never came. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_rules = 64, most_pending = 8192 };

static struct {
  long bytes, call, rank, place, count;
  int percent, lost, none;
} rules[most_rules];
static int rule_count = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What is about to be received, and what the memory holds before. */
typedef struct {
  void* buffer;
  long count;
  MPI_Datatype type;
  void* before;
} Arrival;

static struct {
  Arrival arrival;
  MPI_Request request;
  int used, persistent;
} pending[most_pending];

static void read_rules(void) {
  const char* text = getenv("CORRUPT");
  rule_count = 0;
  while (text != NULL && *text != 0 && rule_count < most_rules) {
    int read = 0;
    if (sscanf(text, "%ld:%ld:%ld:%n", &rules[rule_count].bytes, &rules[rule_count].call, &rules[rule_count].rank,
               &read) == 3) {
      char* end = NULL;
      rules[rule_count].place = strtol(text + read, &end, 10);
      rules[rule_count].percent = *end == '%';
      rules[rule_count].lost = strncmp(text + read, "lost", 4) == 0;
      rules[rule_count].none = strncmp(text + read, "none", 4) == 0;
      ++rule_count;
    }
    text = strchr(text, ';');
    if (text != NULL) ++text;
  }
}

static int rank_in(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}
static int world_rank(void) { return rank_in(MPI_COMM_WORLD); }

/* The offsets of the callers in the program itself, innermost first. */
static const char* callers(void) {
  static char text[2048];
  void* stack[64];
  Dl_info program, caller;
  int used = 0;
  const int depth = backtrace(stack, 64);
  text[0] = 0;
  if (dladdr(stack[depth - 1], &program) == 0) return text; /* _start */
  for (int i = 0; i < depth && used < (int)sizeof text - 32; ++i) {
    if (dladdr(stack[i], &caller) == 0 || caller.dli_fbase != program.dli_fbase) continue;
    used += sprintf(text + used, " %lx", (long)((char*)stack[i] - (char*)caller.dli_fbase));
  }
  return text;
}

__attribute__((destructor)) static void tell_counts(void) {
  for (int i = 0; i < rule_count; ++i)
    if (rules[i].count > 0 && rules[i].count < rules[i].call)
      fprintf(stderr, "%ld receives of rule %d\n", rules[i].count, i);
}

static int fits(int rule, long bytes) {
  const int right = rules[rule].bytes < 0 ? bytes >= -rules[rule].bytes : bytes == rules[rule].bytes;
  return right && rules[rule].rank == world_rank();
}

/* The data of `a`, whatever its type, one after another in memory to be freed, and back. */
static unsigned char* packed(const Arrival* a, int* size) {
  int position = 0;
  PMPI_Pack_size((int)a->count, a->type, MPI_COMM_SELF, size);
  unsigned char* data = malloc(*size + 1);
  PMPI_Pack(a->buffer, (int)a->count, a->type, data, *size, &position, MPI_COMM_SELF);
  return data;
}
static void unpack(const Arrival* a, const unsigned char* data, int size) {
  int position = 0;
  PMPI_Unpack(data, size, &position, a->buffer, (int)a->count, a->type, MPI_COMM_SELF);
}

static long size_of(long count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return count * size;
}

static Arrival arriving(void* buffer, long count, MPI_Datatype type) {
  Arrival a = {buffer, count, type, NULL};
  pthread_mutex_lock(&lock);
  if (rule_count < 0) read_rules();
  if (buffer == NULL || buffer == MPI_IN_PLACE || count <= 0 || type == MPI_DATATYPE_NULL) a.count = 0;
  int size = 0;
  for (int i = 0; i < rule_count && a.count > 0 && a.before == NULL; ++i)
    if (rules[i].lost && fits(i, size_of(count, type))) a.before = packed(&a, &size);
  pthread_mutex_unlock(&lock);
  return a;
}

/* Whether the data were lost. */
static int arrived(Arrival* a, long bytes) {
  int lost = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < rule_count && a->count > 0 && bytes > 0; ++i) {
    if (!fits(i, bytes)) continue;
    ++rules[i].count;
    int size = 0;
    if (rules[i].none) {
      fprintf(stderr, "receive %ld on rank %d%s\n", rules[i].count, world_rank(), callers());
    } else if (rules[i].lost && rules[i].count >= rules[i].call && a->before != NULL) {
      PMPI_Pack_size((int)a->count, a->type, MPI_COMM_SELF, &size);
      unpack(a, a->before, size);
      lost = 1;
      if (rules[i].count == rules[i].call) fprintf(stderr, "lost %ld bytes on rank %d\n", bytes, world_rank());
    } else if (!rules[i].lost && rules[i].count == rules[i].call) {
      const long at = rules[i].percent ? (bytes - 1) * rules[i].place / 100 : rules[i].place % bytes;
      unsigned char* data = packed(a, &size);
      data[at] ^= 0x10;
      unpack(a, data, size);
      free(data);
      fprintf(stderr, "corrupted byte %ld of %ld on rank %d%s\n", at, bytes, world_rank(), callers());
    }
  }
  pthread_mutex_unlock(&lock);
  free(a->before);
  a->before = NULL;
  return lost;
}
static void all_arrived(Arrival* a) { arrived(a, a->count > 0 ? size_of(a->count, a->type) : 0); }

static long bytes_in(MPI_Status* status) {
  int bytes = 0;
  PMPI_Get_count(status, MPI_BYTE, &bytes);
  return bytes == MPI_UNDEFINED ? 0 : bytes;
}

static int ranks_of(MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  return size;
}

static int is_root(int root, MPI_Comm comm) { return rank_in(comm) == root; }

static long sum_of(const int* counts, MPI_Comm comm) {
  long sum = 0;
  for (int i = 0; i < ranks_of(comm); ++i) sum += counts[i];
  return sum;
}

static void expect(MPI_Request request, Arrival arrival, int persistent) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < most_pending; ++i) {
    if (pending[i].used) continue;
    pending[i].arrival = arrival;
    pending[i].request = request;
    pending[i].persistent = persistent;
    pending[i].used = 1;
    break;
  }
  pthread_mutex_unlock(&lock);
}

static void completed(MPI_Request request, MPI_Status* status) {
  if (request == MPI_REQUEST_NULL) return;
  for (int i = 0; i < most_pending; ++i) {
    if (!pending[i].used || pending[i].request != request) continue;
    Arrival arrival = pending[i].arrival;
    if (!pending[i].persistent) pending[i].used = 0;
    arrived(&arrival, bytes_in(status));
    return;
  }
}

int MPI_Recv(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* s) {
  MPI_Status own;
  if (s == MPI_STATUS_IGNORE) s = &own;
  Arrival a = arriving(b, n, t);
  const int code = PMPI_Recv(b, n, t, from, tag, c, s);
  arrived(&a, from == MPI_PROC_NULL ? 0 : bytes_in(s));
  return code;
}
int MPI_Sendrecv(const void* sb, int sn, MPI_Datatype st, int to, int stag, void* b, int n, MPI_Datatype t,
                 int from, int tag, MPI_Comm c, MPI_Status* s) {
  MPI_Status own;
  if (s == MPI_STATUS_IGNORE) s = &own;
  Arrival a = arriving(b, n, t);
  const int code = PMPI_Sendrecv(sb, sn, st, to, stag, b, n, t, from, tag, c, s);
  arrived(&a, from == MPI_PROC_NULL ? 0 : bytes_in(s));
  return code;
}
int MPI_Irecv(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r) {
  Arrival a = arriving(b, n, t);
  const int code = PMPI_Irecv(b, n, t, from, tag, c, r);
  expect(*r, a, 0);
  return code;
}
int MPI_Recv_init(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r) {
  const Arrival a = {b, n, t, NULL};
  const int code = PMPI_Recv_init(b, n, t, from, tag, c, r);
  expect(*r, a, 1);
  return code;
}
int MPI_Start(MPI_Request* r) {
  for (int i = 0; i < most_pending; ++i) {
    if (!pending[i].used || pending[i].request != *r) continue;
    const Arrival* a = &pending[i].arrival;
    pending[i].arrival = arriving(a->buffer, a->count, a->type);
  }
  return PMPI_Start(r);
}
int MPI_Request_free(MPI_Request* r) {
  for (int i = 0; i < most_pending; ++i)
    if (pending[i].used && pending[i].request == *r) pending[i].used = 0;
  return PMPI_Request_free(r);
}
int MPI_Wait(MPI_Request* r, MPI_Status* s) {
  MPI_Status own;
  if (s == MPI_STATUS_IGNORE) s = &own;
  const MPI_Request request = *r;
  const int code = PMPI_Wait(r, s);
  completed(request, s);
  return code;
}
int MPI_Test(MPI_Request* r, int* done, MPI_Status* s) {
  MPI_Status own;
  if (s == MPI_STATUS_IGNORE) s = &own;
  const MPI_Request request = *r;
  const int code = PMPI_Test(r, done, s);
  if (*done) completed(request, s);
  return code;
}
int MPI_Waitany(int n, MPI_Request* r, int* index, MPI_Status* s) {
  MPI_Status own;
  if (s == MPI_STATUS_IGNORE) s = &own;
  MPI_Request* known = malloc(sizeof *known * (n + 1));
  memcpy(known, r, sizeof *known * n);
  const int code = PMPI_Waitany(n, r, index, s);
  if (*index != MPI_UNDEFINED) completed(known[*index], s);
  free(known);
  return code;
}
static int all_of(int n, MPI_Request* r, int* done, MPI_Status* s) {
  MPI_Request* known = malloc(sizeof *known * (n + 1));
  MPI_Status* own = malloc(sizeof *own * (n + 1));
  if (s == MPI_STATUSES_IGNORE) s = own;
  memcpy(known, r, sizeof *known * n);
  const int code = done == NULL ? PMPI_Waitall(n, r, s) : PMPI_Testall(n, r, done, s);
  for (int i = 0; (done == NULL || *done) && i < n; ++i) completed(known[i], &s[i]);
  free(known);
  free(own);
  return code;
}
int MPI_Waitall(int n, MPI_Request* r, MPI_Status* s) { return all_of(n, r, NULL, s); }
int MPI_Testall(int n, MPI_Request* r, int* done, MPI_Status* s) { return all_of(n, r, done, s); }

/* Messages that a rank of a grid receives from all its neighbors. */
static int neighbors_of(MPI_Comm grid) {
  int dimensions = 0;
  PMPI_Cartdim_get(grid, &dimensions);
  return 2 * dimensions;
}

/* A collective: its parameters, its arguments, and what it receives: where, and how much. */
#define COLLECTIVE(name, parameters, arguments, buffer, items) \
  int MPI_##name parameters {                                  \
    Arrival a = arriving(buffer, items, t);                    \
    const int code = PMPI_##name arguments;                    \
    all_arrived(&a);                                           \
    return code;                                               \
  }
#define AT_ROOT (is_root(root, c) ? b : NULL)

COLLECTIVE(Bcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c),
           is_root(root, c) ? NULL : b, n)
COLLECTIVE(Reduce, (const void* sb, void* b, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c),
           (sb, b, n, t, o, root, c), AT_ROOT, n)
COLLECTIVE(Allreduce, (const void* sb, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (sb, b, n, t, o, c),
           b, n)
COLLECTIVE(Scan, (const void* sb, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (sb, b, n, t, o, c), b, n)
COLLECTIVE(Exscan, (const void* sb, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (sb, b, n, t, o, c),
           is_root(0, c) ? NULL : b, n)
COLLECTIVE(Reduce_scatter_block, (const void* sb, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
           (sb, b, n, t, o, c), b, n)
COLLECTIVE(Reduce_scatter, (const void* sb, void* b, const int* n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
           (sb, b, n, t, o, c), b, n[rank_in(c)])
COLLECTIVE(Scatter,
           (const void* sb, int sn, MPI_Datatype st, void* b, int n, MPI_Datatype t, int root, MPI_Comm c),
           (sb, sn, st, b, n, t, root, c), b, n)
COLLECTIVE(Scatterv,
           (const void* sb, const int* sn, const int* d, MPI_Datatype st, void* b, int n, MPI_Datatype t, int root,
            MPI_Comm c),
           (sb, sn, d, st, b, n, t, root, c), b, n)
COLLECTIVE(Gather, (const void* sb, int sn, MPI_Datatype st, void* b, int n, MPI_Datatype t, int root, MPI_Comm c),
           (sb, sn, st, b, n, t, root, c), AT_ROOT, (long)n* ranks_of(c))
COLLECTIVE(Gatherv,
           (const void* sb, int sn, MPI_Datatype st, void* b, const int* n, const int* d, MPI_Datatype t, int root,
            MPI_Comm c),
           (sb, sn, st, b, n, d, t, root, c), AT_ROOT, is_root(root, c) ? sum_of(n, c) : 0)
COLLECTIVE(Allgather, (const void* sb, int sn, MPI_Datatype st, void* b, int n, MPI_Datatype t, MPI_Comm c),
           (sb, sn, st, b, n, t, c), b, (long)n* ranks_of(c))
COLLECTIVE(Allgatherv,
           (const void* sb, int sn, MPI_Datatype st, void* b, const int* n, const int* d, MPI_Datatype t,
            MPI_Comm c),
           (sb, sn, st, b, n, d, t, c), b, sum_of(n, c))
COLLECTIVE(Alltoall, (const void* sb, int sn, MPI_Datatype st, void* b, int n, MPI_Datatype t, MPI_Comm c),
           (sb, sn, st, b, n, t, c), b, (long)n* ranks_of(c))
COLLECTIVE(Neighbor_alltoall,
           (const void* sb, int sn, MPI_Datatype st, void* b, int n, MPI_Datatype t, MPI_Comm c),
           (sb, sn, st, b, n, t, c), b, (long)n* neighbors_of(c))
COLLECTIVE(Alltoallv,
           (const void* sb, const int* sn, const int* sd, MPI_Datatype st, void* b, const int* n, const int* d,
            MPI_Datatype t, MPI_Comm c),
           (sb, sn, sd, st, b, n, d, t, c), b, sum_of(n, c))

/* One-sided operations: what is put or added goes wrong in a copy, what is got when its epoch ends. */
static Arrival got;

static const void* put(const void* b, int n, MPI_Datatype t, int* lost) {
  const long bytes = size_of(n, t);
  unsigned char* copy = malloc(bytes); /* as long as the program: the epoch is not known here */
  memcpy(copy, b, bytes);
  Arrival a = arriving(copy, n, t);
  *lost = arrived(&a, bytes);
  if (memcmp(copy, b, bytes) != 0) return copy;
  free(copy);
  return b;
}
#define ONE_SIDED(name, parameters, ...)                        \
  int MPI_##name parameters {                                   \
    int lost = 0;                                               \
    const void* const from = put(b, n, t, &lost);               \
    return lost ? MPI_SUCCESS : PMPI_##name(from, __VA_ARGS__); \
  }
ONE_SIDED(Put, (const void* b, int n, MPI_Datatype t, int to, MPI_Aint d, int tn, MPI_Datatype tt, MPI_Win w), n,
          t, to, d, tn, tt, w)
ONE_SIDED(Accumulate,
          (const void* b, int n, MPI_Datatype t, int to, MPI_Aint d, int tn, MPI_Datatype tt, MPI_Op o, MPI_Win w),
          n, t, to, d, tn, tt, o, w)
int MPI_Get(void* b, int n, MPI_Datatype t, int rank, MPI_Aint d, int tn, MPI_Datatype tt, MPI_Win w) {
  got = arriving(b, n, t);
  return PMPI_Get(b, n, t, rank, d, tn, tt, w);
}
static int ended(int code) {
  all_arrived(&got);
  got.count = 0;
  return code;
}
int MPI_Win_fence(int assert, MPI_Win w) { return ended(PMPI_Win_fence(assert, w)); }
int MPI_Win_complete(MPI_Win w) { return ended(PMPI_Win_complete(w)); }
int MPI_Win_unlock(int rank, MPI_Win w) { return ended(PMPI_Win_unlock(rank, w)); }
