"""How people choose benchmarks by name: `mpi.latency`, `mpi.*`, or the level `mpi`."""

from collections.abc import Iterable
from fnmatch import fnmatchcase


def matches(name: str, pattern: str) -> bool:
    """Return whether a pattern chooses a benchmark: its name, its level, or a shell pattern of names."""
    return fnmatchcase(name, pattern) or name.startswith(f"{pattern}.")


def matches_any(name: str, patterns: Iterable[str]) -> bool:
    """Return whether one of the patterns chooses a benchmark; no patterns choose all."""
    chosen = list(patterns)
    return not chosen or any(matches(name, pattern) for pattern in chosen)
