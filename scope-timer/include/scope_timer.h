/* The clock with which Scope measures, for application programs: see scope_timer(3).
 *
 * All functions may be called at any time, from any thread, with or without MPI. A stopwatch belongs to one thread. */
#ifndef SCOPE_TIMER_H
#define SCOPE_TIMER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A reading of the clock, in steps of its own; only differences between readings of one host mean anything. */
typedef int64_t scope_ticks;

/* The cheapest reading: the processor may move neighboring instructions across it. */
scope_ticks scope_timer_read(void);

/* A reading that no instruction of the timed part crosses ("anti-warping"); dearer. */
scope_ticks scope_timer_read_serialized(void);

/* The length of an interval in seconds. The first call calibrates the clock, which takes up to 20 ms. */
double scope_timer_seconds(scope_ticks interval);

/* Ticks per second, calibrated against CLOCK_MONOTONIC_RAW. */
double scope_timer_frequency(void);

/* The step in which the clock counts, in seconds. */
double scope_timer_resolution(void);

/* What an empty pair of serialized readings takes, in seconds (median of 1,000). */
double scope_timer_overhead(void);

/* "tsc" (x86-64), "cntvct" (AArch64), "timebase" (POWER) or "clock_gettime". */
const char* scope_timer_source(void);

/* Why the processor's register is not read; "" where it is. */
const char* scope_timer_fallback_reason(void);

/* Adds up the time between start and stop. All zero at first: scope_stopwatch watch = {0}; */
typedef struct scope_stopwatch {
  scope_ticks elapsed;
  scope_ticks started;
  int64_t intervals;
} scope_stopwatch;

void scope_stopwatch_start(scope_stopwatch* watch);
void scope_stopwatch_stop(scope_stopwatch* watch);
void scope_stopwatch_reset(scope_stopwatch* watch);

/* The time of all finished intervals in seconds, without the overhead of the readings. */
double scope_stopwatch_seconds(const scope_stopwatch* watch);

/* Begin and end a named part of the program. Under `scope monitor` the profile shows the time, the MPI calls and
 * the samples of each; otherwise they do nothing. Regions nest: time belongs to the innermost. A name means the same
 * region on all ranks; its first 63 bytes count; only the thread that called MPI_Init may have regions. */
void scope_region_begin(const char* name);
void scope_region_end(void);

#ifdef __cplusplus
}
#endif

#endif
