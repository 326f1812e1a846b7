/* The loop and the call that everybody writes: what node.stream and node.matrix_multiply must agree with.
 *
 * usage: plain_node triad BYTES PASSES LOOPS
 *        plain_node dgemm SIZE CALLS LOOPS LIBRARY ROUTINE
 * Prints one line per loop: seconds per pass or per call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void gemm(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
                  const int *, const double *, const int *, const double *, double *, const int *, size_t, size_t);

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double *filled(size_t bytes) {
  double *values = NULL;
  if (posix_memalign((void **)&values, 4096, bytes) != 0) exit(1);
  for (size_t i = 0; i < bytes / sizeof(double); ++i) values[i] = (double)(i % 509);
  return values;
}

static void triad(const double *a, const double *b, double *c, size_t n) {
  for (size_t i = 0; i < n; ++i) c[i] = a[i] + 3.0 * b[i];
  __asm__ volatile("" : : "r"(c) : "memory");
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  const int stream = strcmp(argv[1], "triad") == 0;
  const size_t given = strtoull(argv[2], NULL, 10);
  const int repeats = atoi(argv[3]), loops = atoi(argv[4]);
  const size_t bytes = stream ? given : given * given * sizeof(double);
  double *a = filled(bytes), *b = filled(bytes), *c = filled(bytes);
  gemm *multiply = NULL;
  if (!stream) {
    void *library = argc == 7 ? dlopen(argv[5], RTLD_NOW) : NULL;
    multiply = library ? (gemm *)dlsym(library, argv[6]) : NULL;
    if (!multiply) return 2;
  }
  const int n = (int)given;
  const double one = 1, zero = 0;
  for (int loop = -1; loop < loops; ++loop) {
    const double start = now();
    for (int i = 0; i < repeats; ++i) {
      if (stream)
        triad(a, b, c, bytes / sizeof(double));
      else
        multiply("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n, 1, 1);
    }
    const double elapsed = (now() - start) / repeats;
    if (loop >= 0) printf("%.12g\n", elapsed); /* the loop before the first warms up */
  }
  return 0;
}
