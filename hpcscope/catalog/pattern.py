"""How users select benchmarks by name: `mpi.latency`, `mpi.*`, or the level `mpi`."""

from collections.abc import Iterable
from fnmatch import fnmatchcase


def matches(name: str, pattern: str) -> bool:
    """Return whether a pattern selects a benchmark: its name, its level, or a shell pattern of names."""
    return fnmatchcase(name, pattern) or name.startswith(f"{pattern}.")


def matches_any(name: str, patterns: Iterable[str]) -> bool:
    """Return whether at least one pattern selects a benchmark; without patterns, all benchmarks are selected."""
    chosen = list(patterns)
    return not chosen or any(matches(name, pattern) for pattern in chosen)
