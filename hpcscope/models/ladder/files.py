"""Ladders of files: the rates from a memory copy up to the files of an application, for writing and reading.

Rungs that benchmarks declare earlier are below later ones of the same layer: independent MPI-IO access is below
collective access. On the layer of the file system, one client is below many clients.
"""

from collections.abc import Iterator
from typing import Literal

from hpcscope.catalog.benchmark import Layer
from hpcscope.models.ladder.ladder import largest_copy
from hpcscope.models.ladder.rung import LAYERS, Ladder, LadderStep, measured_step, successive
from hpcscope.models.measurements import Measurements, by_rung
from hpcscope.statistics.summary import Summary

FilePattern = Literal["file_write", "file_read"]
PATHS: dict[FilePattern, str] = {"file_write": "writing files", "file_read": "reading files"}
FILE_SYSTEM: Layer = "storage"
"""The layer on which one client and many clients are two rungs."""
_LOWEST: tuple[Layer, ...] = ("node", FILE_SYSTEM)
ORDER: tuple[Layer, ...] = (*_LOWEST, *(layer for layer in LAYERS if layer not in _LOWEST))
"""Layers above the limit, in order: files of the operating system are below MPI-IO."""


def file_ladders(measurements: Measurements) -> list[Ladder]:
    """Return the ladder of each direction in which files of a file system were measured."""
    return [ladder for pattern in PATHS if (ladder := _ladder(pattern, measurements)) is not None]


def _ladder(pattern: FilePattern, measurements: Measurements) -> Ladder | None:
    steps = list(_steps(pattern, measurements))
    if not any(step.layer == FILE_SYSTEM for step in steps):
        return None
    # Files are larger than all caches, so the ratio to a copy in memory says nothing about the storage.
    limit = largest_copy(measurements)
    return Ladder(
        path=PATHS[pattern],
        quantity="bandwidth_bytes_per_s",
        message_bytes=None,
        rungs=successive([limit, *steps], "B/s", from_limit=False),
        successive=True,
    )


def _steps(pattern: FilePattern, measurements: Measurements) -> Iterator[LadderStep]:
    for layer in ORDER:
        for cases in by_rung(measurements.standing(pattern, layer, "B/s")):
            summaries = [case for case in cases if case.ranks == 1]
            most = max(case.ranks for case in cases)
            if summaries and (layer in ("node", FILE_SYSTEM) or most == 1):
                yield measured_step(layer, _fastest(summaries))
            if most > 1 and layer != "node":
                yield measured_step(layer, _fastest([case for case in cases if case.ranks == most]))


def _fastest(cases: list[Summary]) -> Summary:
    return max(cases, key=lambda case: case.estimate.value)
