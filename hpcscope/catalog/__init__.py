"""The catalog: the meaning of each benchmark, parameter and metric, as declared by the benchmarks themselves."""
