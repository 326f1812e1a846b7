// Samples of the program's computation: at every tick of the CPU clock of the thread that initialized MPI, the
// current call path is counted, unless it is inside MPI.
#pragma once

namespace scope {

// `rate_hz`: samples per second of the thread's CPU time. Prints a line on stderr if the program uses the signal
// (SIGPROF) itself.
void begin_computation_samples(double rate_hz);
void end_computation_samples();

}  // namespace scope
