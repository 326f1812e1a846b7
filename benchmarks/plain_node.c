/* The loop and the call that everybody writes: what node.stream and node.matrix_multiply must agree with.
 *
 * An MPI program, as Scope's is: its libraries alone make a pass over 64 MiB some per cent slower.
 *
 * usage: plain_node triad BYTES PASSES LOOPS
 *        plain_node dgemm SIZE CALLS LOOPS LIBRARY ROUTINE
 * Prints one line per loop: seconds per pass or per call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

typedef void gemm(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                  const int*, const double*, const int*, const double*, double*, const int*, size_t, size_t);

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* On pages of its own, one page behind the last array, as Scope has them: another distance changes some per cent. */
static double* room(size_t bytes) {
  void* values = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (values == MAP_FAILED) exit(1);
  return values;
}

/* All arrays in one loop, as STREAM does: where their pages lie in memory follows from who touches them when. */
static void fill(double* a, double* b, double* c, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    a[i] = (double)(i % 509);
    b[i] = (double)(i % 1021);
    c[i] = 0;
  }
}

static void triad(const double* a, const double* b, double* c, size_t n) {
  for (size_t i = 0; i < n; ++i) c[i] = a[i] + 3.0 * b[i];
  __asm__ volatile("" : : "r"(c) : "memory");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 5) return 2;
  const int stream = strcmp(argv[1], "triad") == 0;
  const size_t given = strtoull(argv[2], NULL, 10);
  const int repeats = atoi(argv[3]), loops = atoi(argv[4]);
  const size_t bytes = stream ? given : given * given * sizeof(double);
  double *a = room(bytes), *b = room(bytes), *c = room(bytes);
  fill(a, b, c, bytes / sizeof(double));
  gemm* multiply = NULL;
  if (!stream) {
    void* library = argc == 7 ? dlopen(argv[5], RTLD_NOW) : NULL;
    multiply = library ? (gemm*)dlsym(library, argv[6]) : NULL;
    if (!multiply) return 2;
  }
  const int n = (int)given;
  const double one = 1, zero = 0;
  for (int loop = -1; loop < loops; ++loop) {
    const double start = now();
    for (int i = 0; i < repeats; ++i)
      if (stream)
        triad(a, b, c, bytes / sizeof(double));
      else
        multiply("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n, 1, 1);
    const double elapsed = (now() - start) / repeats;
    if (loop >= 0) printf("%.12g\n", elapsed); /* the loop before the first warms up */
  }
  MPI_Finalize();
  return 0;
}
