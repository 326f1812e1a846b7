"""Findings about one node: processor, memory, operating system, BLAS."""
