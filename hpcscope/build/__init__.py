"""The native program: which MPI it is compiled for, the compiled copies, and the benchmarks it registers."""
