"""The catalog: what each benchmark, parameter and metric means, as declared by the benchmarks themselves."""
