// The C interface: the header for C++, made callable.
#include "scope_timer.h"

#include "scope_timer.hpp"

namespace timer = scope::timer;

extern "C" {

scope_ticks scope_timer_read() { return scope::ticks_now(); }
scope_ticks scope_timer_read_serialized() { return timer::read_serialized(); }
double scope_timer_seconds(scope_ticks interval) { return timer::seconds(interval); }
double scope_timer_frequency() { return timer::frequency(); }
double scope_timer_resolution() { return timer::seconds(timer::quality().resolution); }
double scope_timer_overhead() { return timer::seconds(timer::quality().pair); }
const char* scope_timer_source() { return scope::counts_by_register ? scope::register_name() : "clock_gettime"; }
const char* scope_timer_fallback_reason() {
  const char* const objection = scope::register_objection();
  return objection == nullptr ? "" : objection;
}

void scope_stopwatch_start(scope_stopwatch* watch) { watch->started = timer::read_serialized(); }
void scope_stopwatch_stop(scope_stopwatch* watch) {
  watch->elapsed += timer::read_serialized() - watch->started;
  ++watch->intervals;
}
void scope_stopwatch_reset(scope_stopwatch* watch) { *watch = {}; }
double scope_stopwatch_seconds(const scope_stopwatch* watch) {
  const scope_ticks net = watch->elapsed - watch->intervals * timer::quality().pair;
  return net > 0 ? timer::seconds(net) : 0.0;
}

void scope_region_begin(const char* name) { timer::begin_region(name); }
void scope_region_end() { timer::end_region(); }
}
