"""What format 1 called parameters, metrics and their values; by benchmark, or a pattern of benchmarks."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

PARAMETERS = {
    "node.lapack": {"size": "n"},
    "node.linpack_small": {"size": "n"},
    "node.matrix_multiply": {"size": "n"},
    "operation.*": {"size": "n", "rows": "grid_rows", "memory": "buffers"},
    "algorithm.matmul_*": {"size": "n", "rows": "grid_rows"},
    "algorithm.relaxation": {"size": "n", "rows": "grid_rows"},
    "algorithm.sort_psrs": {"elements": "n", "item": "key_type"},
    "mpi.threads": {"crowd": "oversubscription"},
}
VALUES = {"mpi.pairs": {"load": {"alone": "isolated", "together": "concurrent"}}}
METRICS = {"repeated_packets": "retransmitted_packets", "last_share": "last_arrival_share"}


def parameter(benchmark: str, name: str) -> str:
    """Return what a parameter is called now."""
    for pattern, names in PARAMETERS.items():
        if fnmatchcase(benchmark, pattern):
            return names.get(name, name)
    return name


def value(benchmark: str, name: str, old: Any) -> Any:
    """Return what a value of a parameter is called now."""
    return VALUES.get(benchmark, {}).get(name, {}).get(old, old)


def settings(benchmark: str, old: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a case as they are called now."""
    return {parameter(benchmark, name): value(benchmark, name, each) for name, each in old.items()}
