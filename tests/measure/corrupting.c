/* A message-passing library that gives one wrong byte, preloaded under the native program.

   CORRUPT="RULE;RULE...", a rule being BYTES:CALL:RANK:PLACE: of all receives of exactly BYTES bytes on rank RANK of
   MPI_COMM_WORLD the one numbered CALL (from 1) gets the byte at PLACE (a percentage of the length) flipped. BYTES 0 stands
   for 64 bytes or more that a message, a broadcast, a scatter, a gather or an all-to-all moved, text excepted. What a rule
   did is written to standard error. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_rules = 64, most_pending = 8192 };

static struct {
  long bytes, call, rank, place, count;
} rules[most_rules];
static int rule_count = -1;

static struct {
  MPI_Request request;
  void* buffer;
  long bytes;
  int any;
} pending[most_pending];

static void read_rules(void) {
  const char* text = getenv("CORRUPT");
  rule_count = 0;
  while (text != NULL && *text != 0 && rule_count < most_rules) {
    if (sscanf(text, "%ld:%ld:%ld:%ld", &rules[rule_count].bytes, &rules[rule_count].call,
               &rules[rule_count].rank, &rules[rule_count].place) == 4) {
      ++rule_count;
    }
    text = strchr(text, ';');
    if (text != NULL) ++text;
  }
}

static void received(void* buffer, long bytes, int any) {
  int rank = 0;
  if (rule_count < 0) read_rules();
  if (bytes <= 0 || buffer == NULL || buffer == MPI_IN_PLACE) return;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < rule_count; ++i) {
    const int fits = rules[i].bytes == 0 ? any && bytes >= 64 : rules[i].bytes == bytes;
    if (!fits || rules[i].rank != rank || ++rules[i].count != rules[i].call) continue;
    const long at = (bytes - 1) * rules[i].place / 100;
    ((unsigned char*)buffer)[at] ^= 0x10;
    fprintf(stderr, "corrupted byte %ld of %ld on rank %d\n", at, bytes, rank);
  }
}

static long size_of(long count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return count * size;
}

static int ranks_of(MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  return size;
}

static int is_root(int root, MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank == root;
}

static long sum_of(const int* counts, MPI_Comm comm) {
  long sum = 0;
  for (int i = 0; i < ranks_of(comm); ++i) sum += counts[i];
  return sum;
}

static void expect(MPI_Request request, void* buffer, long bytes, int any) {
  for (int i = 0; i < most_pending; ++i) {
    if (pending[i].buffer != NULL) continue;
    pending[i].request = request;
    pending[i].buffer = buffer;
    pending[i].bytes = bytes;
    pending[i].any = any;
    return;
  }
}

static void completed(MPI_Request request) {
  if (request == MPI_REQUEST_NULL) return;
  for (int i = 0; i < most_pending; ++i) {
    if (pending[i].buffer == NULL || pending[i].request != request) continue;
    received(pending[i].buffer, pending[i].bytes, pending[i].any);
    pending[i].buffer = NULL;
    return;
  }
}

int MPI_Recv(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* s) {
  const int code = PMPI_Recv(b, n, t, from, tag, c, s);
  received(b, size_of(n, t), t != MPI_CHAR);
  return code;
}
int MPI_Irecv(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r) {
  const int code = PMPI_Irecv(b, n, t, from, tag, c, r);
  expect(*r, b, size_of(n, t), t != MPI_CHAR);
  return code;
}
int MPI_Wait(MPI_Request* r, MPI_Status* s) {
  const MPI_Request request = *r;
  const int code = PMPI_Wait(r, s);
  completed(request);
  return code;
}
int MPI_Waitall(int n, MPI_Request* r, MPI_Status* s) {
  MPI_Request* known = malloc(sizeof *known * (n > 0 ? n : 1));
  memcpy(known, r, sizeof *known * n);
  const int code = PMPI_Waitall(n, r, s);
  for (int i = 0; i < n; ++i) completed(known[i]);
  free(known);
  return code;
}
int MPI_Test(MPI_Request* r, int* done, MPI_Status* s) {
  const MPI_Request request = *r;
  const int code = PMPI_Test(r, done, s);
  if (*done) completed(request);
  return code;
}
int MPI_Testall(int n, MPI_Request* r, int* done, MPI_Status* s) {
  MPI_Request* known = malloc(sizeof *known * (n > 0 ? n : 1));
  memcpy(known, r, sizeof *known * n);
  const int code = PMPI_Testall(n, r, done, s);
  for (int i = 0; *done && i < n; ++i) completed(known[i]);
  free(known);
  return code;
}
int MPI_Waitany(int n, MPI_Request* r, int* index, MPI_Status* s) {
  MPI_Request* known = malloc(sizeof *known * (n > 0 ? n : 1));
  memcpy(known, r, sizeof *known * n);
  const int code = PMPI_Waitany(n, r, index, s);
  if (*index != MPI_UNDEFINED) completed(known[*index]);
  free(known);
  return code;
}
int MPI_Sendrecv(const void* sb, int sn, MPI_Datatype st, int to, int stag, void* b, int n, MPI_Datatype t, int from,
                 int tag, MPI_Comm c, MPI_Status* s) {
  const int code = PMPI_Sendrecv(sb, sn, st, to, stag, b, n, t, from, tag, c, s);
  if (from != MPI_PROC_NULL) received(b, size_of(n, t), t != MPI_CHAR);
  return code;
}
int MPI_Bcast(void* b, int n, MPI_Datatype t, int root, MPI_Comm c) {
  const int code = PMPI_Bcast(b, n, t, root, c);
  if (!is_root(root, c)) received(b, size_of(n, t), t != MPI_CHAR);
  return code;
}
int MPI_Reduce(const void* sb, void* b, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c) {
  const int code = PMPI_Reduce(sb, b, n, t, o, root, c);
  if (is_root(root, c)) received(b, size_of(n, t), 0);
  return code;
}
int MPI_Allreduce(const void* sb, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c) {
  const int code = PMPI_Allreduce(sb, b, n, t, o, c);
  received(b, size_of(n, t), 0);
  return code;
}
int MPI_Scan(const void* sb, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c) {
  const int code = PMPI_Scan(sb, b, n, t, o, c);
  received(b, size_of(n, t), 0);
  return code;
}
int MPI_Exscan(const void* sb, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c) {
  const int code = PMPI_Exscan(sb, b, n, t, o, c);
  if (!is_root(0, c)) received(b, size_of(n, t), 0);
  return code;
}
int MPI_Reduce_scatter_block(const void* sb, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c) {
  const int code = PMPI_Reduce_scatter_block(sb, b, n, t, o, c);
  received(b, size_of(n, t), 0);
  return code;
}
int MPI_Reduce_scatter(const void* sb, void* b, const int* n, MPI_Datatype t, MPI_Op o, MPI_Comm c) {
  const int code = PMPI_Reduce_scatter(sb, b, n, t, o, c);
  int rank = 0;
  PMPI_Comm_rank(c, &rank);
  received(b, size_of(n[rank], t), 0);
  return code;
}
int MPI_Scatter(const void* sb, int sn, MPI_Datatype st, void* b, int n, MPI_Datatype t, int root, MPI_Comm c) {
  const int code = PMPI_Scatter(sb, sn, st, b, n, t, root, c);
  received(b, size_of(n, t), t != MPI_CHAR);
  return code;
}
int MPI_Scatterv(const void* sb, const int* sn, const int* d, MPI_Datatype st, void* b, int n, MPI_Datatype t,
                 int root, MPI_Comm c) {
  const int code = PMPI_Scatterv(sb, sn, d, st, b, n, t, root, c);
  received(b, size_of(n, t), t != MPI_CHAR);
  return code;
}
int MPI_Gather(const void* sb, int sn, MPI_Datatype st, void* b, int n, MPI_Datatype t, int root, MPI_Comm c) {
  const int code = PMPI_Gather(sb, sn, st, b, n, t, root, c);
  if (is_root(root, c)) received(b, size_of((long)n * ranks_of(c), t), t != MPI_CHAR);
  return code;
}
int MPI_Gatherv(const void* sb, int sn, MPI_Datatype st, void* b, const int* n, const int* d, MPI_Datatype t, int root,
                MPI_Comm c) {
  const int code = PMPI_Gatherv(sb, sn, st, b, n, d, t, root, c);
  if (is_root(root, c)) received(b, size_of(sum_of(n, c), t), t != MPI_CHAR);
  return code;
}
int MPI_Allgather(const void* sb, int sn, MPI_Datatype st, void* b, int n, MPI_Datatype t, MPI_Comm c) {
  const int code = PMPI_Allgather(sb, sn, st, b, n, t, c);
  received(b, size_of((long)n * ranks_of(c), t), 0);
  return code;
}
int MPI_Allgatherv(const void* sb, int sn, MPI_Datatype st, void* b, const int* n, const int* d, MPI_Datatype t,
                   MPI_Comm c) {
  const int code = PMPI_Allgatherv(sb, sn, st, b, n, d, t, c);
  received(b, size_of(sum_of(n, c), t), 0);
  return code;
}
int MPI_Alltoall(const void* sb, int sn, MPI_Datatype st, void* b, int n, MPI_Datatype t, MPI_Comm c) {
  const int code = PMPI_Alltoall(sb, sn, st, b, n, t, c);
  received(b, size_of((long)n * ranks_of(c), t), t != MPI_CHAR);
  return code;
}
int MPI_Alltoallv(const void* sb, const int* sn, const int* sd, MPI_Datatype st, void* b, const int* n, const int* d,
                  MPI_Datatype t, MPI_Comm c) {
  const int code = PMPI_Alltoallv(sb, sn, sd, st, b, n, d, t, c);
  received(b, size_of(sum_of(n, c), t), t != MPI_CHAR);
  return code;
}
