/* Times a triad and names its parts for `scope monitor`. */
#include <scope_timer.h>
#include <stdio.h>
#include <stdlib.h>

enum { ITEMS = 200000, REPETITIONS = 50 };

int main(void) {
  double* const a = malloc(3 * ITEMS * sizeof *a);
  if (a == NULL) return 1;
  double *const b = a + ITEMS, *const c = b + ITEMS;
  scope_region_begin("fill");
  for (int i = 0; i < ITEMS; ++i) {
    b[i] = i;
    c[i] = 1;
  }
  scope_region_end();

  scope_stopwatch watch = {0};
  for (int r = 0; r < REPETITIONS; ++r) {
    scope_region_begin("triad");
    scope_stopwatch_start(&watch);
    for (int i = 0; i < ITEMS; ++i) a[i] = b[i] + 3 * c[i];
    scope_stopwatch_stop(&watch);
    scope_region_end();
  }
  const double seconds = scope_stopwatch_seconds(&watch) / (double)watch.intervals;
  printf("clock %s, %.1f MHz, resolution %.2g ns, overhead %.2g ns\n", scope_timer_source(),
         scope_timer_frequency() * 1e-6, scope_timer_resolution() * 1e9, scope_timer_overhead() * 1e9);
  printf("triad %.3g us, %.3g GB/s, last item %g\n", seconds * 1e6, 24e-9 * ITEMS / seconds, a[ITEMS - 1]);
  free(a);
  return 0;
}
