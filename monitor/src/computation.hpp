// Samples of the program's computation: at every tick of the processor clock of the thread that initialized MPI
// the call path that runs is counted, unless it is inside MPI.
#pragma once

namespace scope {

// `rate_hz`: samples per second of the thread's processor time. A line on stderr where the program has the
// signal (SIGPROF) itself.
void begin_computation_samples(double rate_hz);
void end_computation_samples();

}  // namespace scope
